"""Units of a file: what is decided together, and why some of them stay in any case.

A unit is the contexts that one expression can stand for, all users of shared memory, or all
contexts of a class whose objects come from elsewhere.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Collection, Iterator, Mapping

from tritonclient_shim.migrate.annotations import annotations_of
from tritonclient_shim.migrate.constants import refusal
from tritonclient_shim.migrate.decisions import Keep, Refused, keep
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.flows import CONTEXTS, Group
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.rules import BY_HAND, CREATIONS, MEMORY, METHODS, RENAMED
from tritonclient_shim.migrate.rules.infer import has_regions
from tritonclient_shim.migrate.rules.models import REQUESTS
from tritonclient_shim.migrate.rules.names import FORMS
from tritonclient_shim.migrate.unsafe import UnsafeChange, numbers_of, reason_of
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import UNMISTAKABLE, Site, arguments
from tritonclient_shim.scan.values import BoundMethod

INFER = f"{API}.InferContext"
_UNKNOWN = "create the context in the file that uses it"
_METHOD_ITSELF = "write `lambda: {0}(…)` with its arguments in place of `{0}`"
_APART = "use contexts with shared memory apart from classes that derive from them"
_ERRORS = "drop the ids of errors: only v1 had them"
_STARTS = "import v1 in all files that start or fetch asynchronous requests: {} does, without it"
_ERRORS_ELSEWHERE = "{} reads the ids of errors, which only v1's have"
_REPLACED = "{} may replace the class in this file"
_OWN_METHOD = "a class of the program has a method {}, too; give that method another name"


@dataclass(frozen=True)
class Unit:
    """Contexts and other uses that are rewritten together, or not at all.

    ``sites``: those that belong to no group. ``kind``: the class of all contexts whose objects come
    from elsewhere, too. ``stays``: why they are not rewritten.
    """

    groups: tuple[Group, ...]
    sites: tuple[Site, ...] = ()
    kind: str = ""
    stays: Keep | None = None

    @property
    def kinds(self) -> set[str]:
        """Return the classes of the contexts."""
        return {group.kind for group in self.groups} | ({self.kind} if self.sites else set())

    @property
    def first_node(self) -> ast.AST:
        """Return the first use."""
        return self.groups[0].creations[0] if self.groups else self.sites[0].whole

    @property
    def is_handed(self) -> bool:
        """True if other code makes or gets contexts for requests."""
        senders = [group for group in self.groups if group.kind == INFER]
        return bool(self.kind and self.sites) or any(group.escapes for group in senders)


def units_of(facts: FileFacts) -> list[Unit]:
    """Return the units of a file."""
    groups = _groups(facts)
    strays = _strays(facts, groups)
    lost = _lost(facts, groups, strays)
    takers = {site.whole for site in facts.sites if _takes_regions(site, facts)}
    memory = Unit((), tuple(site for site in facts.sites if site.id in MEMORY))
    by_kind: dict[str, Unit] = {}
    for kind in CONTEXTS:
        unit = Unit((), tuple(strays.get(kind, ())), kind, lost.get(kind))
        by_kind[kind] = unit
        if unit.stays and not takers.isdisjoint(site.whole for site in unit.sites):
            memory = replace(memory, stays=unit.stays)
    if memory.sites and facts.beside.kept & {Keeps.REQUESTS, Keeps.REGIONS}:
        reason = facts.beside.reason_of(Keeps.REGIONS, Keeps.REQUESTS)
        memory = replace(memory, stays=_first(MEMORY, reason, facts))
    alone = []
    for group in groups:
        unit = by_kind[group.kind]
        if not takers.isdisjoint(group.calls):
            stays = memory.stays or unit.stays
            if unit.sites and not unit.stays:
                stays = Keep(_APART, group.creations[0])
                by_kind[group.kind] = replace(unit, stays=stays)
            memory = replace(memory, groups=(*memory.groups, group), stays=stays)
        elif unit.stays or unit.sites:
            by_kind[group.kind] = replace(unit, groups=(*unit.groups, group))
        else:
            alone.append(Unit((group,)))
    return [*alone, memory, *by_kind.values()]


def _groups(facts: FileFacts) -> list[Group]:
    """Return the groups of contexts. Results that nobody else fetches are of the only sender."""
    groups = [group for group in facts.flows.groups if group.kind in CONTEXTS]
    senders = [group for group in groups if group.kind == INFER]
    if len(senders) != 1:
        return groups
    strays = [site.call for site in _strays_of(groups, facts) if site.id == "TS055" and site.call]
    sender = replace(senders[0], calls=(*senders[0].calls, *strays))  # a future is enough
    return [sender if group is senders[0] else group for group in groups]


def _takes_regions(site: Site, facts: FileFacts) -> bool:
    """True if a use takes a handle of shared memory, or a request may have one.

    A method that is handed on may get one, too.
    """
    if site.id in REQUESTS:
        if site.call is None:
            return True
        return has_regions(site.call, arguments(PARAMETERS[site.id], site.call), facts)
    return site.id in ("TS041", "TS042", "TS043")


def _strays_of(groups: list[Group], facts: FileFacts) -> Iterator[Site]:
    """Yield the uses of the classes of contexts that are in none of the groups."""
    known: set[ast.AST] = {x for group in groups for x in (*group.creations, *group.calls)}
    known.update(x for group in groups if group.kind != INFER for x in group.taken)
    known.update(site.whole for site in facts.sites if is_held(site))
    for group in groups:
        known.update(annotations_of(group, facts))
    for site in facts.sites:
        symbol = ENTRIES[site.id].symbol
        is_method = _class_of(site) != symbol and site.id in (*METHODS, *BY_HAND)
        is_of_class = is_method or _class_of(site) == symbol
        if _class_of(site) in CONTEXTS and site.whole not in known and is_of_class:
            yield site


def _class_of(site: Site) -> str:
    """Return the class that a use is of, or whose method it is."""
    symbol = ENTRIES[site.id].symbol
    return symbol if symbol in CONTEXTS else symbol.rpartition(".")[0]


def _strays(facts: FileFacts, groups: list[Group]) -> dict[str, list[Site]]:
    """Return the uses of each class of contexts outside of groups.

    With such uses all contexts for requests become objects.
    """
    strays: dict[str, list[Site]] = {}
    for site in _strays_of(groups, facts):
        strays.setdefault(_class_of(site), []).append(site)
    return strays


def _lost(
    facts: FileFacts, groups: list[Group], strays: Mapping[str, list[Site]]
) -> dict[str, Keep]:
    """Return why all contexts of a class stay, for each class whose contexts do."""
    lost = {kind: _unknown(kind, sites, facts) for kind, sites in strays.items()}
    methods = _methods_handed_on(strays.get(INFER, []))
    are_known = all(is_run_of_contexts(method, facts) for method in methods)
    if are_known and facts.options.allows(UnsafeChange.OBJECT):
        lost.pop(INFER, None)
    unreadable = refusal(FORMS, facts)
    for kind, sites in strays.items():
        lost.update((kind, _own_method(site)) for site in sites if _may_be_own(site, facts))
    if facts.beside.starts or unreadable:
        places = facts.beside.starts or [""]
        lost[INFER] = unreadable or _first(("TS050",), _STARTS.format(places[0]), facts)
    for kind in CONTEXTS:
        place = facts.beside.replaced.get(kind.rpartition(".")[2])
        if place is not None:
            lost[kind] = _first((CREATIONS[kind],), _REPLACED.format(place), facts)
    if facts.errors_stay:
        lost = dict.fromkeys(CONTEXTS, _kept_for_errors(facts))
    return lost


def _kept_for_errors(facts: FileFacts) -> Keep:
    """Return why all contexts stay: for errors whose ids the program reads, or for other files."""
    reason = _ERRORS
    if not facts.has("TS016", "TS017") and facts.beside.asks_errors:
        reason = _ERRORS_ELSEWHERE.format(facts.beside.asks_errors[0])
    elif Keeps.ERRORS in facts.beside.kept:
        reason = facts.beside.reason_of(Keeps.ERRORS)
    return _first(("TS016", "TS017"), reason, facts)


def _may_be_own(site: Site, facts: FileFacts) -> bool:
    """True for a method of an unknown object that classes of the program have, too."""
    name = last_name(site.node)
    is_unknown = isinstance(site.node, ast.Attribute) and not facts.evaluator.of(site.node)
    return is_unknown and name in UNMISTAKABLE and name in facts.own_methods


def _own_method(site: Site) -> Keep:
    """Return why an unknown object stays whose method classes of the program have, too."""
    return Keep(_OWN_METHOD.format(last_name(site.node)), site.whole)


def _methods_handed_on(strays: list[Site]) -> list[ast.expr | ast.stmt]:
    """Return the methods of contexts that are read and not called."""
    return [site.node for site in strays if site.call is None and site.id in METHODS]


def _unknown(kind: str, strays: list[Site], facts: FileFacts) -> Keep:
    """Return why contexts stay of which other code makes or gets some."""
    methods = _methods_handed_on(strays)
    if methods:
        refusals = {method: method_itself(method, facts) for method in methods}
        method = next((x for x in methods if not refusals[x].by_option), methods[0])
        return keep(refusals[method], method)
    if kind == INFER:
        return Keep(reason_of([UnsafeChange.OBJECT]), strays[0].whole, by_option=True)
    return Keep(_UNKNOWN, strays[0].whole)


def _first(ids: Collection[str], reason: str, facts: FileFacts) -> Keep:
    """Return a reason at the first use with one of these ids, or else at the first use."""
    nodes = [site.whole for site in facts.sites if site.id in ids]
    return Keep(reason, [*nodes, facts.sites[0].whole][0])


def is_held(site: Site) -> bool:
    """True for a call of a variable that has a method, which may get another name."""
    return site.id in RENAMED and isinstance(site.node, ast.Name)


def method_itself(node: ast.AST, facts: FileFacts) -> Refused:
    """Return why a method that is handed on stays, unless an option rewrites it."""
    reason = _METHOD_ITSELF.format(" ".join(facts.text(node).split()))
    is_known = is_run_of_contexts(node, facts)
    rows = numbers_of([UnsafeChange.OBJECT])
    return Refused(f"{reason}; --unsafe rewrites it ({rows})" if is_known else reason, is_known)


def is_run_of_contexts(node: ast.AST, facts: FileFacts) -> bool:
    """True for the method ``run`` that is handed on, if that of an object does for it.

    Outputs of another file, and tensors in shared memory, may be none that the object takes.
    """
    values = facts.evaluator.of(node)
    methods = [value for value in values if isinstance(value, BoundMethod)]
    is_run = len(methods) == len(values) and {value.name for value in methods} == {"run"}
    is_asked = isinstance(facts.flows.parents[node], ast.Attribute)
    may_have_regions = facts.beside.has_regions or facts.has("TS040", "TS081", "TS086")
    return is_run and not (is_asked or may_have_regions or facts.beside.linked)
