"""TS005, TS007, TS008, TS066, TS072 to TS076: v1's raw stub → one that speaks KServe.

Its messages become plain objects with the fields that requests have. All of a file's uses are
rewritten, or none.
"""

from __future__ import annotations

import ast
from typing import Iterable

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.migrate.values import Symbol
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import NOT_SELECTED, SiteOutcome, State
from tritonclient_shim.rewrite.rules.status import OTHERS
from tritonclient_shim.rewrite.rules.values import FLAGS

CALLS = ("TS072", "TS073", "TS074", "TS075", "TS076")
#: Uses that have a name among those of the helpers, or keep the stub.
_NAMED = frozenset(
    ("TS005", "TS007", "TS008", "TS066", "TS072", "TS077", "TS078", "TS079", "TS080")
)
_ALL = _NAMED.union(CALLS)
#: The last part of a name in the generated modules → what the helpers have instead.
_NAMES = {
    "GRPCServiceStub": "InferStub",
    **dict.fromkeys(("InferRequest", "StatusRequest", "HealthRequest"), "Record"),
    **dict.fromkeys(("InferRequestHeader", "Input", "Output"), "Record"),
    **{flag: flag for flag in FLAGS},
}
#: Methods of messages that plain objects lack.
_LACKS = frozenset(
    ("SerializeToString", "ParseFromString", "FromString", "MergeFrom", "HasField")
    + ("ListFields", "ClearField", "WhichOneof", "infer_stats")
)
BY_HAND = "use a client, or KServe's messages and stub, in place of v1's"
_UNSAFE = "unsafe: messages become plain objects, which take any field; --unsafe rewrites it"


def rewrite(draft: Draft) -> None:
    """Rewrite the uses of the raw stub, if all are known."""
    sites = [site for site in draft.sites if site.id in _ALL and not _is_import(site)]
    if not any(site.id == "TS072" for site in sites):
        return
    names = {site: _name(site.node, draft) for site in sites if site.id in _NAMED}
    attributes = {node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Attribute)}
    refusal = _refusal(sites, names.values(), draft)
    codes = [site for site in draft.sites if site.id == "TS006" and not _is_import(site)]
    if refusal:
        for site in (*sites, *codes):
            comment = refusal == BY_HAND and site not in codes
            draft.todo(site.whole, refusal, comment)
        return
    draft.modules.add("grpc")
    reads = draft.attributes & (OTHERS - {"id"})
    stub = "StatusStub" if reads or any(map(_asks_for_all, sites)) else "InferStub"
    for site, name in names.items():
        helper = stub if name == "InferStub" else name
        draft.need(helper)
        draft.replace(site.node, draft.called(helper))
    for node in attributes:
        if node.attr == "future" and getattr(node.value, "attr", "") == "Infer":
            draft.replace(node, f"{draft.text(node.value)[: -len('Infer')]}infer_future")
    for site in sites:
        what = f"{names.get(site, 'a method of the stub')} of the helpers"
        draft.outcomes.setdefault(site.whole, SiteOutcome(State.UNSAFE, what))


def _refusal(sites: Iterable[Site], names: Iterable[str], draft: Draft) -> str:
    """Return why the stub stays; '' if it is rewritten."""
    if _LACKS & draft.attributes or not all(names):
        return BY_HAND
    if not draft.options.selects(*(site.id for site in sites if site.id in CALLS)):
        return NOT_SELECTED
    return "" if draft.options.unsafe else _UNSAFE


def _is_import(site: Site) -> bool:
    return isinstance(site.node, (ast.Import, ast.ImportFrom))


def _asks_for_all(site: Site) -> bool:
    """True if a use asks for a status without the name of a model."""
    is_request = getattr(site.node, "attr", "") == "StatusRequest"
    return is_request and not getattr(site.call, "keywords", ())


def _name(node: ast.AST, draft: Draft) -> str:
    """Return the helper that replaces a message, a constant or a stub; '' for none."""
    symbols = [value.name for value in draft.evaluator.of(node) if isinstance(value, Symbol)]
    name = symbols[0] if len(symbols) == 1 else ""
    return _NAMES.get(name.rpartition(".")[2], "") if name.startswith(f"{API}.") else ""
