"""Variables that only a rewritten use read: their assignments go with it."""

from __future__ import annotations

import ast
from typing import Iterator, Sequence, Union

from tritonclient_shim.migrate.document import Document
from tritonclient_shim.migrate.edits import Edit, Remove, replaced
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.scopes import last_name

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Functions that read variables by their names.
_BY_NAME = frozenset(("locals", "vars", "eval", "exec"))
#: Functions whose calls may go.
_WITHOUT_EFFECTS = frozenset(("len", "int", "str", "min", "max"))
#: Ids of v1's protocols.
_PROTOCOLS = ("TS010", "TS011")
_RUNS_AS_SCRIPT = ast.dump(ast.parse("__name__ == '__main__'", mode="eval").body)
_EFFECTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def removals(facts: FileFacts, document: Document) -> list[Edit]:
    """Remove assignments to variables that were read before the changes, and are read no more.

    An expression with effects stays, without the variable. A variable for a part of a value gets
    ``_`` before its name. Variables of the module go if they had one of v1's protocols, or if the
    module runs as a script: others can import no variable of ``if __name__ == "__main__":``.
    """
    tree = facts.source.tree
    changed = ast.parse(document.text())
    edits: list[Edit] = []
    for old, new in zip(_functions(tree), _functions(changed)):
        unused = _read(old) - _read(new)
        if _BY_NAME.isdisjoint(_read(old)):
            for statement in ast.walk(old):
                edits += _removed(statement, unused, facts, document)
    if not _BY_NAME.isdisjoint(_read(tree)):
        return edits
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}  # __all__
    unused = _read(tree) - _read(changed) - texts
    protocols = {site.whole for site in facts.sites if site.id in _PROTOCOLS}
    for statement in tree.body:
        if _is_of_script(statement):
            for part in ast.walk(statement):
                edits += _removed(part, unused, facts, document)
        elif not facts.beside.linked and not protocols.isdisjoint(ast.walk(statement)):
            edits += _removed(statement, unused, facts, document)
    return list(dict.fromkeys(edits))


def _is_of_script(statement: ast.stmt) -> bool:
    """True for ``if __name__ == "__main__":``."""
    return isinstance(statement, ast.If) and ast.dump(statement.test) == _RUNS_AS_SCRIPT


def _removed(
    statement: ast.AST, unused: set[str], facts: FileFacts, document: Document
) -> list[Edit]:
    """Remove an assignment to an unused variable."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return []
    target = statement.targets[0]
    if isinstance(target, (ast.Tuple, ast.List)):
        return _marked_unused(target.elts, unused)
    if not isinstance(target, ast.Name) or document.new(target) not in unused:
        return []
    if not isinstance(ast.parse(document.new(statement)).body[0], ast.Assign):
        return []
    if _is_known_protocol(statement.value, facts):
        return [Remove(statement)]
    if _has_effects(ast.parse(document.new(statement.value).strip(), mode="eval")):
        return [replaced(statement, "{0}", statement.value)]
    return [Remove(statement)]


def _is_known_protocol(node: ast.expr, facts: FileFacts) -> bool:
    """True for ``ProtocolType.from_str`` with a literal name that raises no error."""
    calls = (site.call for site in facts.sites if site.id == "TS011")
    call = next((call for call in calls if call is node), None)
    if call is None or len(call.args) != 1:
        return False
    text = facts.constant(call.args[0])
    return isinstance(text, str) and text.lower() in ("http", "grpc")


def _marked_unused(targets: Sequence[ast.expr], unused: set[str]) -> list[Edit]:
    """Write ``_`` before the names of unused parts, as other parts of the value are used."""
    edits: list[Edit] = []
    for target in targets:
        if isinstance(target, ast.Name) and target.id in unused and target.id[:1] != "_":
            edits.append(replaced(target, "{0}", f"_{target.id}"))
    return edits


def _functions(tree: ast.AST) -> Iterator[_Function]:
    return (node for node in ast.walk(tree) if isinstance(node, _FUNCTION))


def _read(function: ast.AST) -> set[str]:
    """Return the variables that a function, or the module, reads, or another function has, too."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.AugAssign):
            names.add(last_name(node.target))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
    return names


def _has_effects(node: ast.AST) -> bool:
    """True if an expression may do more than return a value."""
    parts = list(ast.walk(node))
    called = {last_name(part.func) for part in parts if isinstance(part, ast.Call)}
    return not called <= _WITHOUT_EFFECTS or any(isinstance(part, _EFFECTS) for part in parts)
