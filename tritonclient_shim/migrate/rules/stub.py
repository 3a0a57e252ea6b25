"""TS005, TS007, TS008, TS066, TS072 to TS076: v1's raw stub → one that speaks KServe.

Its messages become plain objects with the fields that requests have. All of a file's uses are
rewritten, or none.
"""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.draft import CONFIGS, Draft
from tritonclient_shim.migrate.options import NOT_SELECTED, SiteOutcome, State
from tritonclient_shim.migrate.rules.names import FLAGS
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of
from tritonclient_shim.scan.scopes import last_name

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
BY_HAND = "use a client, or KServe's messages and stub, in place of v1's"
_ELSEWHERE = (
    "keep v1's messages in one file: other files of the program may serialize or parse them"
)


def rewrite(draft: Draft) -> None:
    """Rewrite the uses of the raw stub, if all are known."""
    imports = (ast.Import, ast.ImportFrom)
    sites = [x for x in draft.sites if x.id in ALL and not isinstance(x.node, imports)]
    if not any(site.id == "TS072" for site in sites):
        return
    named = [site for site in sites if site.id not in (*_METHODS, _CODES)]
    names = {site: _NAMES.get(last_name(site.node), "") for site in named}
    unsafe = (UnsafeChange.STUB,)
    refusal = "" if draft.options.allows(UnsafeChange.STUB) else reason_of(unsafe)
    if not draft.options.selects(*(site.id for site in sites if site.id in CALLS)):
        refusal = NOT_SELECTED
    asks = draft.asks_for("server_status", "request_status", "meta_data", "cls", "raw", "config")
    if draft.beside.linked:
        refusal = _ELSEWHERE
    if asks or _LACKS & draft.flows.attributes or not all(names.values()):
        refusal = BY_HAND
    if refusal:
        draft.kept.add(CONFIGS)
        for site in sites:
            draft.todo(site.whole, refusal, refusal in (BY_HAND, _ELSEWHERE) and site.id != _CODES)
        return
    draft.modules.add("grpc")
    plain = (x for x in ast.walk(draft.source.tree) if isinstance(x, ast.Name) and x.id in _NAMES)
    for name_node in {*(site.node for site in names), *filter(draft.evaluator.is_of_v1, plain)}:
        draft.write(name_node, f"{{{_NAMES[last_name(name_node)]}}}")
    for node in ast.walk(draft.source.tree):
        if last_name(node) == "future" and last_name(getattr(node, "value", node)) == "Infer":
            draft.change(node, lambda old: f"{old[: -len('Infer.future')]}infer_future")
    for site in sites:
        what = f"{names.get(site, 'a method of the stub')} of the helpers"
        if site.id != _CODES:
            outcome = SiteOutcome(State.UNSAFE, what, rows=unsafe)
            draft.outcomes.setdefault(site.whole, outcome)
