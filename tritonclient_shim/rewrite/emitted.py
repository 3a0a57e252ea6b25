"""Write the module beside migrated files: the parts of ``helpers`` that they import."""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from typing import Iterable, Iterator, NamedTuple

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
    """A statement with the comments above it, and the names that it binds and reads.

    A class has its methods with a double underscore. Others are parts of their own.
    """

    source: str  # '' for the import of a name
    text: str
    binds: frozenset[str]  # '.name' for a method
    reads: frozenset[str] = frozenset()  # and '.name' for an attribute
    of: str = ""  # the class of a method


@lru_cache(maxsize=None)
def _parts() -> tuple[_Part, ...]:
    """Return the parts of all sources, each import once."""
    parts = []
    for source in _SOURCES:
        text = content(os.path.join(_FOLDER, f"{source}.py")).decode()
        lines, end = text.splitlines(keepends=True), 0
        for statement, owner in _split(ast.parse(text)):
            last = statement.body[-1] if isinstance(statement, ast.ClassDef) else statement
            part = "".join(lines[end : last.end_lineno]).strip("\n")
            end = last.end_lineno or 0
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name in statement.names:
                    line = import_text(statement, [name])
                    parts.append(_Part("", line, frozenset({name.asname or name.name})))
            elif not isinstance(statement, ast.Expr):
                scopes = Scopes(ast.Module([statement], []))
                names = (node for node in scopes.places if isinstance(node, ast.Name))
                reads = {x.id for x in names if scopes.owner(x) in (None, scopes.module)}
                reads |= {f".{x.attr}" for x in scopes.places if isinstance(x, ast.Attribute)}
                mark = "." if owner else ""
                binds = frozenset(mark + name for name in scopes.module.bindings)
                parts.append(_Part(source, part, binds, frozenset(reads), owner))
    ours = "from tritonclient_shim."  # these parts are in one module
    return tuple(dict.fromkeys(part for part in parts if not part.text.startswith(ours)))


def _split(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements of a module, and each method with its class after the class."""
    for statement in tree.body:
        if not isinstance(statement, ast.ClassDef):
            yield statement, ""
            continue
        methods = [x for x in statement.body if not getattr(x, "name", "__").startswith("__")]
        statement.body = [x for x in statement.body if x not in methods]
        yield statement, ""
        yield from ((method, statement.name) for method in methods)


def import_text(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """Return the text of an import of some of its names."""
    parts = (f"{name.name} as {name.asname}" if name.asname else name.name for name in names)
    text = f"import {', '.join(parts)}"
    if isinstance(node, ast.ImportFrom):
        return f"from {'.' * node.level}{node.module or ''} {text}"
    return text


def module_text(wanted: Iterable[str], over_grpc: bool = False) -> str:
    """Return a module with these names and all that they need.

    ``wanted``: names, and ``.name`` for methods. ``over_grpc``: every client speaks gRPC.
    """
    special = {name for part in _parts() if part.source == _OVER_GRPC for name in part.binds}
    known = [x for x in _parts() if (x.source == _OVER_GRPC) is over_grpc or not x.binds & special]
    names, size = set(wanted), -1
    while size < len(names):
        size = len(names)
        kept = [x for x in known if x.binds & names and (not x.of or x.of in names)]
        names.update(*(part.reads for part in kept))
    imports = _import_lines(part.text for part in kept if not part.source)
    body = "".join(("\n\n" if x.of else "\n\n\n") + x.text for x in kept if x.source)
    return f"{_HEAD}{imports}\n\n{body.lstrip()}\n"


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
        text = before.decode(errors="replace")
        here = (part for part in _parts() if part.source and f"{part.text}\n" in text)
        present = {name for part in here for name in part.binds}
        texts = [module_text(sorted(present), is_grpc).encode() for is_grpc in (False, True)]
        if before not in texts:
            raise Unreadable(
                f"{path}: migrate would not write it so; expected no changes in it, and no other "
                "module of this name; rename it where files import it, and migrate again"
            )
        over_grpc, wanted = over_grpc and before == texts[True], {*wanted, *present}
    return path, before, module_text(sorted(wanted), over_grpc).encode()
