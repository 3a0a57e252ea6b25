"""TS041, TS043, TS045, TS065, TS081 to TS085: shared memory.

A handle becomes a ``Region`` of the file: the handle, and what the server knows it by.
"""

from __future__ import annotations

import ast

import libcst as cst

from tritonclient_shim.migrate.values import HANDLE
from tritonclient_shim.rewrite.calls import COMMA, given
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import by_function, of_owner, with_method
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

_STAYS = "shared memory stays for what cannot be rewritten"
_STATUS = "shared_memory_region"


def _memory(draft: Draft) -> None:
    if not draft.memory:
        raise Refused(_STAYS)


def register(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``register(handle)`` → name, key and size of the region."""
    return _of_region(call, draft, "register_system_shared_memory", ("name", "key", "byte_size"))


def unregister(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``unregister(handle)`` → the region's name."""
    return _of_region(call, draft, "unregister_system_shared_memory", ("name",))


def _of_region(call: ast.Call, draft: Draft, method: str, parts: tuple[str, ...]) -> Plan:
    _memory(draft)
    made = given(("shm_handle",), call)
    if "shm_handle" not in made or not draft.flows.of(made["shm_handle"], frozenset({HANDLE})):
        raise Refused("where the handle was made is not known")

    def change(old: cst.Call) -> cst.Call:
        region = old.args[0].value
        found = [cst.Arg(cst.Attribute(region, cst.Name(part)), comma=COMMA) for part in parts]
        found[-1] = found[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return with_method(old, method).with_changes(args=found)

    return Plan(lambda: draft.change(call, change), method)


def status(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """The status, of which only the list of regions is read."""
    if not all(map(_is_of_regions, draft.around_result(call))):
        raise Refused("the whole status is used; the client has a list or message of regions")
    return of_owner(call, draft, "shared_memory_status")


def _is_of_regions(node: ast.AST) -> bool:
    """Whether a node reads the list of regions of a status, or asks whether it has one."""
    if isinstance(node, ast.IfExp):  # what is for servers without such a list
        return _is_of_regions(node.test) and isinstance(node.orelse, ast.Name)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr":
        return getattr(node.args[-1], "value", "") == _STATUS
    return isinstance(node, ast.Attribute) and node.attr == _STATUS


def create(node: ast.AST, draft: Draft) -> Plan:
    """``create_shared_memory_region`` → a function of the file, which keeps name, key and size."""
    _memory(draft)
    if not isinstance(node, ast.Call):
        raise Refused("the function is used as a value")
    group = draft.flows.group(HANDLE, node)
    for where, reason in group.escapes if group else ():
        raise Refused(f"{reason} in line {getattr(where, 'lineno', 0)}, and expects a handle")
    what = "create_region(name, key, byte_size)"
    return by_function(node, draft, "create_region", what)


def of_handle(node: ast.AST, draft: Draft) -> Plan:
    """``set_…`` and ``destroy_shared_memory_region`` take the handle of the region."""
    _memory(draft)
    if not isinstance(node, ast.Call) or not node.args:
        raise Refused("expected a handle as the first argument")
    if not draft.flows.of(node.args[0], frozenset({HANDLE})):
        raise Refused("where the handle was made is not known")

    def change(old: cst.Call) -> cst.Call:
        first = old.args[0]
        handle = first.with_changes(value=cst.Attribute(first.value, cst.Name("handle")))
        return old.with_changes(args=[handle, *old.args[1:]])

    return Plan(lambda: draft.change(node, change), "of the region's handle")


def strings(node: ast.AST, draft: Draft) -> Plan:
    """``serialize_string_tensor`` → a function of the file with the same result."""
    if not isinstance(node, ast.Call):
        raise Refused("the function is used as a value")
    name = "serialize_strings"
    return by_function(node, draft, name, "serialize_strings(array)")


def exception(node: ast.AST, draft: Draft) -> Plan:
    """The module has an exception of the same name."""
    _memory(draft)
    return Plan(lambda: None, "tritonclient's exception")
