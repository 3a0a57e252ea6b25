"""Find calls of contexts that the program may have closed before.

A closed context of v1 raised v1's exception. A closed client of tritonclient raises ValueError or
RuntimeError, which handlers of v1's exception do not catch.
"""

from __future__ import annotations

import ast
from typing import Iterator, Tuple

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.flows import CLOSING, Group
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.values import LocalClass, LocalFunction, Value

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITH = (ast.With, ast.AsyncWith)
#: A request on a closed context of this class ended the process. No program relies on it.
_INFER = f"{API}.InferContext"
#: A line and a column.
_Position = Tuple[int, int]


def call_after_close(group: Group, facts: FileFacts) -> ast.Call | None:
    """Return a call of a context that may be closed by then, if the program may see its error.

    None if no context of the group may be closed before a call, or nothing catches v1's exception.
    """
    ends = list(_ends(group, facts))
    if not ends or not facts.catches_errors:
        return None
    for call in group.calls:
        is_seen = facts.beside.names_errors or facts.handlers.may_catch(call)
        is_end = last_name(call.func) in CLOSING
        if is_seen and not is_end and any(_may_follow(call, end, group, facts) for end in ends):
            return call
    return None


def _ends(group: Group, facts: FileFacts) -> Iterator[ast.AST]:
    """Yield the calls that close contexts of a group, and the ``with`` statements that do."""
    yield from (call for call in group.calls if last_name(call.func) in CLOSING)
    for node, parent in facts.flows.parents.items():
        if isinstance(parent, ast.withitem) and node is parent.context_expr:
            parts = (part for part in ast.walk(node) if isinstance(part, ast.expr))
            has_context = any(group in facts.flows.of(part) for part in parts)
            if has_context and not _is_given_to_manager(node, group, facts):
                yield facts.flows.parents[parent]


def _is_given_to_manager(node: ast.AST, group: Group, facts: FileFacts) -> bool:
    """True for the call of a context manager of the file whose arguments are contexts.

    Such a manager closes nothing unseen. If its code closes a context, that is a use, too.
    """
    if not isinstance(node, ast.Call):
        return False
    functions = facts.evaluator.of(node.func)
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    parts = (part for value in arguments for part in ast.walk(value) if isinstance(part, ast.expr))
    has_inside = any(part not in arguments and group in facts.flows.of(part) for part in parts)
    is_made = any(
        isinstance(value, ast.Call) and group in facts.flows.of(value) for value in arguments
    )
    return bool(functions) and all(map(_is_manager, functions)) and not (has_inside or is_made)


def _is_manager(value: Value) -> bool:
    """True for a ``@contextmanager`` of the file, or a class without base classes."""
    if isinstance(value, LocalClass):
        return not (value.node.bases or value.node.keywords or value.node.decorator_list)
    if not isinstance(value, LocalFunction) or isinstance(value.node, ast.Lambda):
        return False
    return [last_name(mark) for mark in value.node.decorator_list] == ["contextmanager"]


def _may_follow(call: ast.Call, end: ast.AST, group: Group, facts: FileFacts) -> bool:
    """True unless the context of a call is certainly made anew between its end and the call."""
    start = _start(call, group, facts)
    if start is None:  # another function makes it, or another variable has it
        return group.kind != _INFER
    position = _end_of(end) if isinstance(end, _WITH) else _start_of(end)
    if _start_of(start) < position < _start_of(call):
        return True
    loops = [part for part in facts.flows.around(call) if isinstance(part, _LOOPS)]
    around_end = set(facts.flows.around(end))
    around_start = {start, *facts.flows.around(start)}
    return any(loop in around_end and loop not in around_start for loop in loops)


def _start(call: ast.Call, group: Group, facts: FileFacts) -> ast.AST | None:
    """Return the last statement that certainly makes the context of a call; None if none does."""
    scopes = facts.evaluator.scopes
    place = scopes.places[call]
    variable = call.func.value if isinstance(call.func, ast.Attribute) else None
    starts: list[ast.AST] = []
    for creation in group.creations:
        statement = facts.layout.statement(creation)
        start = scopes.places[statement]
        is_above = _start_of(statement) < _start_of(call)
        is_before = start.scope is place.scope and place.path[: len(start.path)] == start.path
        if is_above and is_before and _binds(statement, creation, variable):
            starts.append(statement)
    return max(starts, key=_start_of, default=None)


def _binds(statement: ast.AST, creation: ast.Call, variable: ast.expr | None) -> bool:
    """True for an assignment or a ``with`` statement that gives a new context to a variable."""
    if not isinstance(variable, ast.Name):
        return False
    targets: list[ast.expr | None] = []
    if isinstance(statement, ast.Assign) and statement.value is creation:
        targets += statement.targets
    elif isinstance(statement, _WITH):
        targets += [x.optional_vars for x in statement.items if x.context_expr is creation]
    return any(isinstance(target, ast.Name) and target.id == variable.id for target in targets)


def _start_of(node: ast.AST) -> _Position:
    """Return the position of the first character of a node."""
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end_of(node: ast.AST) -> _Position:
    """Return the position behind a node."""
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
