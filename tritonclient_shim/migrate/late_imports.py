"""Find imports below code that uses v1, in a file that imports v1 no higher.

What is written needs imports and functions above its first use. They are written where the module
imports v1. Without such a place above the first use, none is certainly right.
"""

from __future__ import annotations

import ast
from typing import Iterator

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.rules import IMPORTS
from tritonclient_shim.scan.imports import is_of_v1
from tritonclient_shim.scan.scopes import DEFINITIONS, last_name, with_readers


def late_import(facts: FileFacts) -> ast.stmt | None:
    """Return an import of the module below code that uses v1 when it runs.

    None if there is none, or if the module imports v1 above this code.
    """
    using = _statements_with_uses(facts)
    body = facts.source.tree.body
    own_names = [part.name for part in body if isinstance(part, DEFINITIONS) and part in using]
    names = with_readers(own_names, {part: _names(part) for part in body})
    is_below = False
    for statement in body:
        if isinstance(statement, DEFINITIONS):
            continue
        if is_below:
            for node in _imports(statement):
                return node
        elif _is_of_v1(statement):
            return None
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            is_below = is_below or statement in using or bool(_names(statement) & names)
    return None


def _is_of_v1(statement: ast.stmt) -> bool:
    """True for an import of v1."""
    if isinstance(statement, ast.ImportFrom):
        return is_of_v1(statement.module or "")
    return isinstance(statement, ast.Import) and any(is_of_v1(x.name) for x in statement.names)


def _statements_with_uses(facts: FileFacts) -> set[ast.AST]:
    """Return the statements of the module that have a use of v1, imports apart."""
    statements: set[ast.AST] = set()
    for site in facts.sites:
        if site.id not in IMPORTS:
            around = [site.node, *facts.flows.around(site.node)]
            statements.add(around[-2])  # the last one is the module
    return statements


def _names(statement: ast.stmt) -> set[str]:
    """Return all names and attributes in a statement."""
    return {last_name(node) for node in ast.walk(statement)}


def _imports(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the imports in a statement, but those in its functions and classes."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield statement
    elif not isinstance(statement, DEFINITIONS):
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.stmt):
                yield from _imports(part)
            elif isinstance(part, ast.ExceptHandler):
                for below in part.body:
                    yield from _imports(below)
