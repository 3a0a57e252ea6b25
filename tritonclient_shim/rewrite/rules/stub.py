"""TS005 to TS008, TS072 to TS076: v1's raw stub → one that speaks KServe.

Its messages become plain objects with the fields that requests have. All of a file's uses are
rewritten, or none.
"""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import Symbol
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import State

CALLS = ("TS072", "TS073", "TS074", "TS075", "TS076")
_MODULES = ("TS005", "TS006", "TS007", "TS008")
_ALL = frozenset((*CALLS, *_MODULES, *(f"TS0{number}" for number in (66, 67, 77, 78, 79, 80))))
FLAGS = ("FLAG_NONE", "FLAG_SEQUENCE_START", "FLAG_SEQUENCE_END")
#: What the generated modules have → what the helpers have instead.
_NAMES = {
    f"{API}.grpc_service_pb2_grpc.GRPCServiceStub": "InferStub",
    f"{API}.grpc_service_pb2.InferRequest": "InferRequest",
    f"{API}.grpc_service_pb2.StatusRequest": "StatusRequest",
    f"{API}.grpc_service_pb2.HealthRequest": "HealthRequest",
    f"{API}.api_pb2.InferRequestHeader.Output": "RequestOutput",
    f"{API}.api_pb2.InferRequestHeader.Input": "RequestInput",
    f"{API}.request_status_pb2.RequestStatusCode": "RequestStatusCode",
    f"{API}.request_status_pb2": "RequestStatusCode",
    **{f"{API}.api_pb2.InferRequestHeader.{flag}": flag for flag in FLAGS},
}
#: Methods of messages that plain objects lack.
_LACKS = frozenset(
    ("SerializeToString", "ParseFromString", "FromString", "CopyFrom", "MergeFrom", "HasField")
    + ("ListFields", "ClearField", "WhichOneof", "infer_stats")
)
_UNSAFE = "messages become plain objects, which take any field"


def rewrite(draft: Draft) -> None:
    """Rewrite the uses of the raw stub, if all are known."""
    sites = [site for site in draft.sites if site.id in _ALL and not draft.outcome(site)]
    uses = [site for site in sites if not isinstance(site.node, (ast.Import, ast.ImportFrom))]
    names = {site: _name(site.node, draft) for site in uses if site.id not in CALLS[1:]}
    lacks = {getattr(node, "attr", "") for node in ast.walk(draft.source.tree)} & _LACKS
    if not draft.options.selects(*(site.id for site in uses if site.id in CALLS)):
        return
    if not draft.options.unsafe or lacks or not all(names.values()):
        return
    if not any(site.id == "TS072" for site in uses) or any(site.id > "TS076" for site in uses):
        return
    for site in uses:
        name = names.get(site, "")
        if name:
            helper = name.partition(".")[0]
            draft.need(helper)
            draft.replace(site.node, draft.called(helper) + name[len(helper) :])
        draft.note(site.whole, State.UNSAFE, f"{name or 'a method'} of the helpers; {_UNSAFE}")


def _name(node: ast.AST, draft: Draft) -> str:
    """Return the helper that replaces a message, a constant or a stub; '' for none."""
    symbols = [value.name for value in draft.evaluator.of(node) if isinstance(value, Symbol)]
    for known, name in _NAMES.items() if len(symbols) == 1 else ():
        if symbols[0] == known or symbols[0].startswith(f"{known}."):
            return name + symbols[0][len(known) :]
    return ""
