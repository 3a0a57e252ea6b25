"""The module that is written beside migrated files: the parts of ``helpers`` that they import."""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from typing import Iterable, NamedTuple

from tritonclient_shim.migrate.sources import Unreadable

#: Name of the module. Files import their functions from it.
MODULE = "triton_helpers"
_SOURCE = os.path.join(os.path.dirname(__file__), "helpers.py")
_MARK = "`tritonclient-shim migrate` wrote this file"


class _Part(NamedTuple):
    """A statement of ``helpers`` with the comments above it: the names it binds and reads."""

    text: str
    binds: frozenset[str]
    reads: frozenset[str]


class _Parts(NamedTuple):
    docstring: str
    imports: list[ast.Import | ast.ImportFrom]
    parts: list[_Part]


@lru_cache(maxsize=None)
def _parts() -> _Parts:
    with open(_SOURCE, encoding="utf-8") as file:
        source = file.read()
    lines = source.splitlines(keepends=True)
    first, *body = ast.parse(source).body
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    end = imports[-1].end_lineno or 0
    parts = []
    for statement in body[len(imports) :]:
        last = statement.end_lineno or 0
        text = "".join(lines[end:last])
        while last < len(lines) and lines[last].startswith("#:"):
            last += 1
        parts.append(_Part(text, frozenset(_bound(statement)), frozenset(_read(statement))))
        end = last
    return _Parts("".join(lines[: first.end_lineno]), imports, parts)


def names() -> frozenset[str]:
    """Return the names that migrated files can import."""
    bound = frozenset(name for part in _parts().parts for name in part.binds)
    return frozenset(name for name in bound if not name.startswith("_"))


def module_text(wanted: Iterable[str]) -> str:
    """Return a module with these names and all that they need."""
    known = _parts()
    owner = {name: part for part in known.parts for name in part.binds}
    chosen: set[_Part] = set()
    pending = [owner[name] for name in wanted]
    while pending:
        part = pending.pop()
        if part not in chosen:
            chosen.add(part)
            pending += [owner[name] for name in part.reads if name in owner]
    kept = [part for part in known.parts if part in chosen]
    reads = {name for part in kept for name in part.reads}
    imports: list[str] = []
    previous, new_group = 0, True
    for statement in known.imports:
        line = _import(statement, reads)
        new_group = new_group or statement.lineno > previous + 1
        previous = statement.end_lineno or 0
        if line:
            imports.append(f"\n{line}\n" if new_group else f"{line}\n")
            new_group = False
    return f"{known.docstring}{''.join(imports)}{''.join(part.text for part in kept)}\n"


def helper_file(folder: str, wanted: Iterable[str]) -> tuple[str, bytes, bytes]:
    """Return the path of a folder's module, and its text before and after names are added."""
    path, before = os.path.join(folder, f"{MODULE}.py"), b""
    if os.path.exists(path):
        with open(path, "rb") as file:
            before = file.read()
        if _MARK not in before.decode("utf-8", "replace"):
            raise Unreadable(
                f"{path}: migrate has not written it; expected no other module of this name; "
                "rename it, and migrate again"
            )
        statements = ast.parse(before).body
        wanted = {*wanted, *(name for one in statements for name in _bound(one))} & names()
    return path, before, module_text(sorted(wanted)).encode()


def _bound(statement: ast.stmt) -> Iterable[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [node.id for node in nodes if isinstance(node.ctx, ast.Store)]


def _read(statement: ast.stmt) -> Iterable[str]:
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [node.id for node in nodes if isinstance(node.ctx, ast.Load)]


def _import(node: ast.Import | ast.ImportFrom, reads: set[str]) -> str:
    """Return the line of an import for the names that are read, '' for none."""
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return "from __future__ import annotations"
    used = [item for item in node.names if (item.asname or item.name).partition(".")[0] in reads]
    if not used:
        return ""
    text = ", ".join(f"{item.name} as {item.asname}" if item.asname else item.name for item in used)
    if isinstance(node, ast.Import):
        return f"import {text}"
    line = f"from {node.module} import {text}"
    return line if len(line) <= 100 else f"from {node.module} import (\n    {text},\n)"
