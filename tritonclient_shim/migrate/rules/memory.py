"""TS041 to TS045, TS065, TS081 to TS090: shared memory.

A handle becomes a ``Region`` of the helpers: the handle, its name, key and size.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import Callable

from tritonclient_shim.migrate.draft import Draft, call_arguments, owner
from tritonclient_shim.migrate.options import Plan, Refused
from tritonclient_shim.migrate.rules.models import Contexts, Rule
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.scopes import last_name

_ELSEWHERE = (UnsafeChange.HANDLES,)


def of_region(form: str) -> Rule:
    """Return the rule for a method with a handle → a call with the client and the region."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        handle = call_arguments(("shm_handle",), call).get("shm_handle")
        if "{1}" in form and handle is None:
            raise Refused("give the handle as the first argument")
        unsafe = _ELSEWHERE if handle and not draft.flows.of(handle) else ()
        name = form.partition("(")[0].rpartition(".")[2].strip("{}")
        return Plan(form, [owner(call), handle or ""], name, unsafe)

    return rule


def status(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_shared_memory_status()`` → a helper, where the program reads the list of regions."""
    results = draft.results(call)
    if results and all(map(draft.is_printed, results)):
        name = "get_system_shared_memory_status"
        unsafe = (UnsafeChange.PRINTED_REGIONS,)
        return Plan(f"{{0}}.{name}()", [owner(call)], f"{name}()", unsafe)
    reads = [getattr(node, "attr", "") for node in draft.around_result(call)]
    if set(reads) != {"shared_memory_region"}:
        raise Refused("read the regions that get_system_shared_memory_status() returns")
    unsafe = (UnsafeChange.REGION_STATUS,)
    return Plan("{region_status}({0})", [owner(call)], "region_status(client)", unsafe)


def by_helper(helper: str) -> Callable[[ast.AST, Draft], Plan]:
    """Return the rule for a function that becomes a helper with equal arguments."""

    def rule(node: ast.AST, draft: Draft) -> Plan:
        unsafe = _ELSEWHERE if any(group.escapes for group in draft.flows.of(node)) else ()
        return Plan(f"{{{helper}}}", (), f"{helper}(…)", unsafe, at=getattr(node, "func", node))

    return rule


def of_handle(node: ast.AST, draft: Draft) -> Plan:
    """``set_…`` and ``destroy_shared_memory_region``: of the region's handle."""
    function, arguments = getattr(node, "func", node), getattr(node, "args", [])
    if not arguments or len(draft.evaluator.of(function)) != 1:
        raise Refused("call it as a function of one module, with the handle first")
    unsafe = () if draft.flows.of(arguments[0]) else _ELSEWHERE
    form = f"{{cuda_memory}}().{last_name(function)}" if _is_of_cuda(function, draft) else ""
    also = partial(draft.write, arguments[0], "{old}.handle")
    return Plan(form, what="of the region's handle", unsafe=unsafe, at=function, also=also)


def exception(node: ast.AST, draft: Draft) -> Plan:
    """Use the exception of tritonclient's module, which has v1's name."""
    form = "{cuda_error}()" if _is_of_cuda(node, draft) else ""
    return Plan(form, what="tritonclient's exception")


def _is_of_cuda(node: ast.AST, draft: Draft) -> bool:
    """True for a name of v1's module for CUDA memory."""
    names = [getattr(value, "name", "") for value in draft.evaluator.of(node)]
    return any("cuda_shared_memory." in name for name in names)
