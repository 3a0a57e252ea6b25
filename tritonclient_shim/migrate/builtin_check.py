"""A check of a written file: that its code reads builtins, and nothing else of their names."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from typing import Iterable

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.scopes import Binding, Scopes

#: Packages whose builtins are Python's, or do as these do.
_SAME = frozenset(("builtins", "future", "past", "six"))
#: Builtins of Python 2. No Python 3 runs an assignment of these.
_OF_PYTHON_2 = frozenset(("basestring", "long", "raw_input", "unicode", "xrange"))
_BY_NAME = "import the names that are needed"


def other_builtins(facts: FileFacts, changed: str, definitions: Iterable[str]) -> str:
    """Return why a file stays: written code would read another object as a builtin; '' if not.

    ``changed``: the new text of the file. ``definitions``: what it has of the helpers.
    """
    scopes = facts.evaluator.scopes
    own_text = "\n".join(definitions)
    free = _free_builtins(own_text)
    lines = _loads(changed) - _loads(facts.full_text) - _loads(own_text)
    added = {name for name in lines if hasattr(builtins, name)}
    for name in sorted(free | added):
        used_in = scopes.of_node.values() if name in added else [scopes.module]
        bindings = [binding for scope in used_in for binding in scope.bindings.get(name, ())]
        for binding in bindings:
            if not _is_builtin(binding, facts):
                place = facts.source.place(_line_of(binding.node, facts))
                return f"{place} binds `{name}`, which written code reads; give it another name"
    return _of_stars(sorted(free | added), facts)


def _of_stars(names: list[str], facts: FileFacts) -> str:
    """Return why a file stays whose star imports may bind names of builtins; '' if it need not."""
    for node in ast.walk(facts.source.tree):
        if names and isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            bound = facts.beside.star_names(node.level, node.module or "")
            known = [name for name in names if name in bound]
            if known or "" in bound:
                place = facts.source.place(node.lineno)
                name = (known or names)[0]
                return f"{place} may bind `{name}`, which written code reads; {_BY_NAME}"
    return ""


def _is_builtin(binding: Binding, facts: FileFacts) -> bool:
    """True for an import of a builtin, and for an assignment that only Python 2 runs."""
    node = binding.node
    if isinstance(node, ast.alias):
        statement = facts.flows.parents[node]
        module = getattr(statement, "module", None) or ""
        return module.partition(".")[0] in _SAME
    return isinstance(node, ast.Name) and node.id in _OF_PYTHON_2


def _line_of(node: ast.AST, facts: FileFacts) -> int:
    """Return the line of what binds a name. Before Python 3.10 an alias has no line."""
    statement = facts.flows.parents[node] if isinstance(node, ast.alias) else node
    return int(statement.lineno)  # type: ignore[attr-defined]


def _free_builtins(text: str) -> set[str]:
    """Return the builtins that a text reads and does not bind."""
    scopes = Scopes(ast.parse(text))
    names = [node for node in scopes.places if isinstance(node, ast.Name)]
    free = {node.id for node in names if scopes.owner(node) is None}
    return {name for name in free if hasattr(builtins, name)}


def _loads(text: str) -> Counter[str]:
    """Return how often a text reads each variable."""
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    return Counter(node.id for node in names if isinstance(node.ctx, ast.Load))
