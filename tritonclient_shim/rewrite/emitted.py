"""Write the module beside migrated files: the parts of ``helpers`` that they import."""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache
from typing import Iterable, NamedTuple

from tritonclient_shim.migrate.scopes import Scopes
from tritonclient_shim.migrate.sources import Unreadable, content

#: Name of the module. Files import their functions from it.
MODULE = "triton_helpers"
_FOLDER = os.path.join(os.path.dirname(__file__), "helpers")
#: The sources. Each source follows the sources whose names it reads.
_SOURCES = ("requests", "over_grpc", "memory", "models", "status", "stub")
#: The source whose names replace others where every client speaks gRPC.
_OVER_GRPC = "over_grpc"
#: Packages that are not Python's own.
OTHERS = ("grpc", "google", "numpy", "tritonclient", "future", "pkg_resources")
_HEAD = "# `tritonclient-shim migrate` wrote this file: functions of the files beside it."


class _Part(NamedTuple):
    """A statement with the comments above it, and the names that it binds and reads."""

    source: str  # '' for the import of a name
    text: str
    binds: frozenset[str]
    reads: frozenset[str] = frozenset()


@lru_cache(maxsize=None)
def _parts() -> tuple[_Part, ...]:
    """Return the parts of all sources, each import once."""
    parts = []
    for source in _SOURCES:
        text = content(os.path.join(_FOLDER, f"{source}.py")).decode()
        lines, end = text.splitlines(keepends=True), 0
        for statement in ast.parse(text).body:
            part = "".join(lines[end : statement.end_lineno]).strip("\n")
            end = statement.end_lineno or 0
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name in statement.names:
                    line = import_text(statement, [name])
                    parts.append(_Part("", line, frozenset({name.asname or name.name})))
            elif not isinstance(statement, ast.Expr):
                scopes = Scopes(ast.Module([statement], []))
                names = (node for node in scopes.places if isinstance(node, ast.Name))
                reads = frozenset(x.id for x in names if scopes.owner(x) in (None, scopes.module))
                parts.append(_Part(source, part, frozenset(scopes.module.bindings), reads))
    ours = "from tritonclient_shim."  # these parts are in one module
    return tuple(dict.fromkeys(part for part in parts if not part.text.startswith(ours)))


def import_text(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """Return the text of an import of some of its names."""
    parts = (f"{name.name} as {name.asname}" if name.asname else name.name for name in names)
    text = f"import {', '.join(parts)}"
    if isinstance(node, ast.ImportFrom):
        return f"from {'.' * node.level}{node.module or ''} {text}"
    return text


def module_text(wanted: Iterable[str], over_grpc: bool = False) -> str:
    """Return a module with these names and all that they need.

    ``over_grpc``: every client speaks gRPC.
    """
    special = {name for part in _parts() if part.source == _OVER_GRPC for name in part.binds}
    known = [x for x in _parts() if (x.source == _OVER_GRPC) is over_grpc or not x.binds & special]
    names, size = set(wanted), -1
    while size < len(names):
        size = len(names)
        kept = [part for part in known if part.binds & names]
        names.update(*(part.reads for part in kept))
    imports = _import_lines(part.text for part in kept if not part.source)
    body = "\n\n\n".join(part.text for part in kept if part.source)
    return f"{_HEAD}{imports}\n\n{body}\n"


def _import_lines(imports: Iterable[str]) -> str:
    """Return the imports, Python's own before others, as formatters sort them."""
    blocks: tuple[list[str], list[str]] = ([], [])
    for line in sorted(imports, key=lambda line: (line.startswith("from"), line)):
        block = blocks[line.split()[1].partition(".")[0] in OTHERS]
        start, _, name = line.partition(" import ")
        if name and block and block[-1].startswith(f"{start} import "):
            block[-1] += f", {name}"
        else:
            block.append(line)
    return "".join("\n" + "\n".join(block) + "\n" for block in blocks if block)


def helper_file(
    folder: str, wanted: Iterable[str], over_grpc: bool = False
) -> tuple[str, bytes, bytes]:
    """Return the path of a folder's module, and its text before and after names are added."""
    path, before = os.path.join(folder, f"{MODULE}.py"), b""
    if os.path.exists(path):
        before = content(path)
        blocks = re.split(r"\n\n+(?=\S)", before.decode(errors="replace").rstrip("\n"))
        present = {name for part in _parts() if part.text in blocks for name in part.binds}
        texts = [module_text(sorted(present), is_grpc).encode() for is_grpc in (False, True)]
        if before not in texts:
            raise Unreadable(
                f"{path}: migrate would not write it so; expected no changes in it, and no other "
                "module of this name; rename it where files import it, and migrate again"
            )
        over_grpc, wanted = over_grpc and before == texts[True], {*wanted, *present}
    return path, before, module_text(sorted(wanted), over_grpc).encode()
