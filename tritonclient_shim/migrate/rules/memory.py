"""TS041 to TS045, TS065, TS081 to TS090: shared memory.

A handle becomes a ``Region`` of the helpers: the handle, its name, key and size.
"""

from __future__ import annotations

import ast
from typing import Callable

from tritonclient_shim.migrate.decisions import Plan, Refused, Rewrite, rewrite, unchanged
from tritonclient_shim.migrate.edits import replaced
from tritonclient_shim.migrate.facts import FileFacts, call_arguments, owner
from tritonclient_shim.migrate.rules.models import Contexts, Rule
from tritonclient_shim.migrate.rules.status_reads import reads_known_regions
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.scopes import last_name

_SET = "set_shared_memory_region"
_DESTROY = "destroy_shared_memory_region"
#: Functions of NumPy whose arrays have dimensions.
_RANGES = frozenset(("arange", "atleast_1d", "concatenate", "linspace", "stack"))
#: Functions of NumPy whose arrays have dimensions if the first argument is a list.
_OF_LISTS = frozenset(("array", "asarray", "empty", "full", "ones", "zeros"))
_ELSEWHERE = (UnsafeChange.HANDLES,)


def of_region(form: str) -> Rule:
    """Return the rule for a method with a handle → a call with the client and the region."""

    def rule(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
        handle = call_arguments(("shm_handle",), call).get("shm_handle")
        if "{1}" in form and handle is None:
            raise Refused("give the handle as the first argument")
        unsafe = _ELSEWHERE if handle and not facts.flows.of(handle) else ()
        name = form.partition("(")[0].rpartition(".")[2].strip("{}")
        return rewrite(call, form, owner(call), handle or "", what=name, unsafe=unsafe)

    return rule


def status(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """``get_shared_memory_status()`` → a helper, where the program reads the list of regions."""
    results = facts.results(call)
    if results and all(map(facts.is_printed, results)):
        name = "get_system_shared_memory_status"
        unsafe = (UnsafeChange.PRINTED_REGIONS,)
        return rewrite(call, f"{{0}}.{name}()", owner(call), what=f"{name}()", unsafe=unsafe)
    reads = [getattr(node, "attr", "") for node in facts.around_result(call)]
    if set(reads) != {"shared_memory_region"}:
        raise Refused("read the regions that get_system_shared_memory_status() returns")
    is_known = reads_known_regions(call, facts)
    changes = () if is_known else (UnsafeChange.REGION_STATUS,)
    what = "region_status(client)"
    return rewrite(call, "{region_status}({0})", owner(call), what=what, unsafe=changes)


def by_helper(helper: str) -> Callable[[ast.AST, FileFacts], Plan]:
    """Return the rule for a function that becomes a helper with equal arguments."""

    def rule(node: ast.AST, facts: FileFacts) -> Plan:
        unsafe = _ELSEWHERE if any(group.escapes for group in facts.flows.of(node)) else ()
        function = getattr(node, "func", node)
        return rewrite(function, f"{{{helper}}}", what=f"{helper}(…)", unsafe=unsafe)

    return rule


def of_handle(node: ast.AST, facts: FileFacts) -> Plan:
    """``set_…`` and ``destroy_shared_memory_region``: of the region's handle."""
    function = getattr(node, "func", node)
    arguments = getattr(node, "args", [])
    if not arguments or len(facts.evaluator.of(function)) != 1:
        raise Refused("call it as a function of one module, with the handle first")
    unsafe = () if facts.flows.of(arguments[0]) else _ELSEWHERE
    may_be_caught = facts.has("TS085") or facts.beside.has_regions
    if last_name(function) == _DESTROY and may_be_caught and not _is_of_cuda(function, facts):
        return rewrite(function, "{destroy_region}", what="destroy_region(region)", unsafe=unsafe)
    is_set = last_name(function) == _SET and not _is_of_cuda(function, facts)
    if is_set and not _has_dimensions(arguments[1:], facts):
        return rewrite(function, "{set_region}", what="set_region(region, …)", unsafe=unsafe)
    edits = [replaced(arguments[0], "{old}.handle")]
    if _is_of_cuda(function, facts):
        edits.append(replaced(function, f"{{cuda_memory}}().{last_name(function)}"))
    return Rewrite("of the region's handle", unsafe, tuple(edits))


def _has_dimensions(values: list[ast.expr], facts: FileFacts) -> bool:
    """True if all arrays that are written into a region certainly have dimensions."""
    if len(values) != 1 or not isinstance(values[0], (ast.List, ast.Tuple)):
        return False
    return all(_is_array_with_dimensions(element, facts) for element in values[0].elts)


def _is_array_with_dimensions(node: ast.AST, facts: FileFacts) -> bool:
    """True for a call that makes an array with dimensions, or the only variable with its value."""
    if isinstance(node, ast.Name):
        bindings = facts.evaluator.scopes.bindings(node)
        if len(bindings) != 1 or bindings[0].steps or bindings[0].wraps:
            return False
        node = bindings[0].node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if last_name(node.func.value) not in ("np", "numpy"):
        return False
    has_list = bool(node.args) and isinstance(node.args[0], (ast.List, ast.ListComp))
    return node.func.attr in _RANGES or node.func.attr in _OF_LISTS and has_list


def serialized(node: ast.AST, facts: FileFacts) -> Plan:
    """``serialize_string_tensor`` of a module of shared memory → a helper with another error."""
    if facts.has("TS085", "TS090"):
        raise Refused("call that of tensorrtserver.api, which raises InferenceServerException")
    return by_helper("serialize_strings")(node, facts)


def exception(node: ast.AST, facts: FileFacts) -> Plan:
    """Use the exception of tritonclient's module, which has v1's name."""
    what = "tritonclient's exception"
    if not _is_of_cuda(node, facts):
        return unchanged(what)
    return rewrite(node, "{cuda_error}()", what=what)


def _is_of_cuda(node: ast.AST, facts: FileFacts) -> bool:
    """True for a name of v1's module for CUDA memory."""
    names = [getattr(value, "name", "") for value in facts.evaluator.of(node)]
    return any("cuda_shared_memory." in name for name in names)
