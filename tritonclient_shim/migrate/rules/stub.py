"""TS005, TS007, TS008, TS066, TS072 to TS076: v1's raw stub → one that speaks KServe.

Its messages become plain objects with the fields that requests have. All of a file's uses are
rewritten, or none.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Iterator, Mapping

from tritonclient_shim.migrate.decisions import NOT_SELECTED
from tritonclient_shim.migrate.edits import Edit, replaced
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.options import SiteOutcome, State
from tritonclient_shim.migrate.rules.names import FLAGS
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import Site

_METHODS = ("TS073", "TS074", "TS075", "TS076")
CALLS = ("TS072", *_METHODS)
_REFUSED = ("TS077", "TS078", "TS079", "TS080")
#: Codes stay with the stub. If the stub goes, they have a rule of their own.
_CODES = "TS006"
ALL = frozenset(("TS005", _CODES, "TS007", "TS008", "TS066", *CALLS, *_REFUSED))
#: The last part of a name in the generated modules → what the helpers have instead.
_NAMES = {
    "GRPCServiceStub": "InferStub",
    **dict.fromkeys(("InferRequest", "StatusRequest", "HealthRequest"), "Record"),
    **dict.fromkeys(("InferRequestHeader", "Input", "Output", "Class"), "Record"),
    **{flag: flag for flag in FLAGS},
}
#: Methods of messages that plain objects lack, and parts of a status that the stub does not fetch.
_LACKS = frozenset(
    ("SerializeToString", "ParseFromString", "FromString", "MergeFrom")
    + ("ListFields", "ClearField", "WhichOneof", "infer_stats", "uptime_ns", "version_status")
)
_UNSAFE = (UnsafeChange.STUB,)
BY_HAND = "use a client, or KServe's messages and stub, in place of v1's"
_ELSEWHERE = "keep v1's messages in one file: {} may serialize or parse them"


@dataclass(frozen=True)
class StubPlan:
    """What the uses of the raw stub become, and their outcomes. A file without has none."""

    outcomes: tuple[tuple[ast.AST, SiteOutcome], ...] = ()
    edits: tuple[Edit, ...] = ()
    stays: bool = False  # v1's stub, although the file uses it

    @property
    def protocols(self) -> frozenset[str]:
        """Return the protocol of the stub, if the file gets one."""
        return frozenset(["grpc"] if self.edits else [])


def plan(facts: FileFacts) -> StubPlan:
    """Plan the uses of the raw stub, if all are known."""
    imports = (ast.Import, ast.ImportFrom)
    sites = [x for x in facts.sites if x.id in ALL and not isinstance(x.node, imports)]
    if not any(site.id == "TS072" for site in sites):
        return StubPlan()
    named = [site for site in sites if site.id not in (*_METHODS, _CODES)]
    names = {site: _NAMES.get(last_name(site.node), "") for site in named}
    refusal = _refusal(sites, names, facts)
    if refusal:
        has_work = refusal not in (NOT_SELECTED, reason_of(_UNSAFE))
        outcomes = []
        for site in sites:
            comment = has_work and site.id != _CODES
            outcomes.append((site.whole, SiteOutcome(State.TODO, refusal, comment)))
        return StubPlan(tuple(outcomes), stays=True)
    outcomes = []
    for site in sites:
        what = f"{names.get(site, 'a method of the stub')} of the helpers"
        if site.id != _CODES:
            outcomes.append((site.whole, SiteOutcome(State.UNSAFE, what, rows=_UNSAFE)))
    return StubPlan(tuple(outcomes), tuple(_edits([site.node for site in names], facts)))


def _refusal(sites: list[Site], names: Mapping[Site, str], facts: FileFacts) -> str:
    """Return why the uses of the stub stay; '' if they do not."""
    asks = facts.asks_for("server_status", "request_status", "meta_data", "cls", "raw", "config")
    if asks or _LACKS & facts.flows.attributes or not all(names.values()):
        return BY_HAND
    if facts.beside.linked:
        return _ELSEWHERE.format(facts.beside.others[0])
    if not facts.options.selects(*(site.id for site in sites if site.id in CALLS)):
        return NOT_SELECTED
    return "" if facts.options.allows(UnsafeChange.STUB) else reason_of(_UNSAFE)


def _edits(nodes: list[ast.AST], facts: FileFacts) -> Iterator[Edit]:
    """Yield the edits of names in v1's generated modules, and of calls that return futures."""
    tree = facts.source.tree
    plain = (x for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id in _NAMES)
    for name_node in {*nodes, *filter(facts.evaluator.is_of_v1, plain)}:
        yield replaced(name_node, f"{{{_NAMES[last_name(name_node)]}}}")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr != "future":
            continue
        method = node.value
        if isinstance(method, ast.Attribute) and method.attr == "Infer":
            yield replaced(node, "{0}.infer_future", method.value)
