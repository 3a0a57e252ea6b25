"""TS041 to TS045, TS065, TS081 to TS090: shared memory.

A handle becomes a ``Region`` of the helpers: the handle, its name, key and size.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Callable

from tritonclient_shim.migrate.values import HANDLE
from tritonclient_shim.rewrite.calls import call_arguments, call_text, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import by_function, of_owner
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

_ELSEWHERE = "code elsewhere may expect a handle, or make one"
_STATUS = "shared_memory_region"


def register(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``register(handle)`` → name, key and size of the region."""
    return _of_region(call, draft, "register_system_shared_memory", ("name", "key", "byte_size"))


def cuda_register(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``cuda_register(handle)`` → name, raw handle, device and size of the region."""
    parts = ("name", "key", "device_id", "byte_size")
    return _of_region(call, draft, "register_cuda_shared_memory", parts)


def unregister(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``unregister(handle)`` → the region's name."""
    if not any(site.id in ("TS042", "TS086") for site in draft.sites):
        return _of_region(call, draft, "unregister_system_shared_memory", ("name",))
    region = _region(call_arguments(("shm_handle",), call).get("shm_handle"), draft)

    def carry_out() -> None:
        draft.need("unregister_region")
        function, names = draft.called("unregister_region"), ("shm_handle",)
        draft.change(
            call,
            lambda old: call_text(
                draft.edits, call, function, names, [draft.new(owner(call))], {"shm_handle": ""}
            ),
        )

    return Plan(carry_out, "unregister_region(client, region)", region)


def _region(handle: ast.expr | None, draft: Draft) -> str:
    """Return what is unsafe about a handle."""
    if handle is None:
        raise Refused("expected a handle as the first argument")
    return "" if draft.flows.of(handle, frozenset({HANDLE})) else _ELSEWHERE


def _of_region(call: ast.Call, draft: Draft, method: str, parts: tuple[str, ...]) -> Plan:
    handle = call_arguments(("shm_handle",), call).get("shm_handle")
    unsafe = _region(handle, draft)

    def change(old: str) -> str:
        assert handle is not None
        arguments = ", ".join(f"{draft.primary(handle)}.{part}" for part in parts)
        return f"{draft.new(owner(call))}.{method}({arguments})"

    return Plan(lambda: draft.change(call, change), method, unsafe)


def status(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """Return the status for a program that reads only its list of regions."""
    if not all(map(_is_of_regions, draft.around_result(call))):
        raise Refused("the whole status is used; the client has a list or message of regions")
    return of_owner(call, draft, "shared_memory_status")


def _is_of_regions(node: ast.AST) -> bool:
    """True if a node reads the list of regions of a status, or asks whether it has one."""
    if isinstance(node, ast.IfExp):  # what is for servers without such a list
        return _is_of_regions(node.test) and isinstance(node.orelse, ast.Name)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr":
        return getattr(node.args[-1], "value", "") == _STATUS
    return isinstance(node, ast.Attribute) and node.attr == _STATUS


def create(function: str) -> Callable[[ast.AST, Draft], Plan]:
    """Return the rule for ``create_…``: its function keeps the name, key and size."""

    def rule(node: ast.AST, draft: Draft) -> Plan:
        if not isinstance(node, ast.Call):
            raise Refused("the function is used as a value")
        group = draft.flows.group(HANDLE, node)
        unsafe = _ELSEWHERE if group and group.escapes else ""
        plan = by_function(node, draft, function, f"{function}(name, …)")
        return replace(plan, unsafe=unsafe)

    return rule


def of_handle(node: ast.AST, draft: Draft) -> Plan:
    """``set_…`` and ``destroy_shared_memory_region`` take the handle of the region."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    unsafe = _region(first, draft)
    assert isinstance(node, ast.Call) and first is not None

    def carry_out() -> None:
        draft.change(first, lambda old: f"{old}.handle")
        if "cuda" in _symbol(node.func, draft):
            draft.need("cuda_memory")
            name = _symbol(node.func, draft).rpartition(".")[2]
            draft.replace(node.func, f"{draft.called('cuda_memory')}().{name}")

    return Plan(carry_out, "of the region's handle", unsafe)


def _symbol(node: ast.AST, draft: Draft) -> str:
    names = (getattr(value, "name", "") for value in draft.evaluator.of(node))
    return next((name for name in names if "shared_memory" in name), "")


def strings(node: ast.AST, draft: Draft) -> Plan:
    """``serialize_string_tensor`` → a helper with an equal result."""
    if not isinstance(node, ast.Call):
        raise Refused("the function is used as a value")
    name = "serialize_strings"
    return by_function(node, draft, name, "serialize_strings(array)")


def exception(node: ast.AST, draft: Draft) -> Plan:
    """Use the exception of tritonclient's module, which has v1's name."""
    if not isinstance(node, (ast.Name, ast.Attribute)) or "cuda" not in _symbol(node, draft):
        return Plan(lambda: None, "tritonclient's exception")

    def carry_out() -> None:
        draft.need("cuda_memory")
        draft.replace(node, f"{draft.called('cuda_memory')}().CudaSharedMemoryException")

    return Plan(carry_out, "tritonclient's exception")
