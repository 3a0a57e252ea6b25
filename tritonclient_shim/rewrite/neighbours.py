"""The other files of a program: their imports, and the names that they use."""

from __future__ import annotations

import ast
import os
import re
from typing import Iterable, Mapping

from tritonclient_shim.migrate.imports import API, star_of
from tritonclient_shim.migrate.sources import Unreadable, parsed
from tritonclient_shim.rewrite.emitted import MODULE

_ENDINGS = (".py", ".pyw", ".ipynb")
_IMPORTS = re.compile(
    r"(?:^|\\n|\")[ \t]*(?:from[ \t]+([.\w]+)[ \t]+)?import[ \t]+([^\n\"]*)", re.M
)
_LEGACY = re.compile(rb"(?:Infer|Status|Health|Repository|Control)Context|ProtocolType")


class Neighbours:
    """The files beside a file, with the new text of migrated files.

    ``texts``: path → text that will replace the file on disk.
    """

    def __init__(self, path: str, texts: Mapping[str, bytes]) -> None:
        self._stem = _stem(path)
        known = (os.path.abspath(path), os.path.join(os.path.dirname(path), f"{MODULE}.py"))
        others = [other for other in _beside(path) if other not in map(os.path.abspath, known)]
        self._others = {other: _text(other, texts) for other in others}
        self._path, self._own = path, _text(path, texts)

    @property
    def in_package(self) -> bool:
        """True if the file is a module of a package, which imports by relative names."""
        folder = os.path.dirname(os.path.abspath(self._path))
        is_script = b"__main__" in self._own
        return os.path.exists(os.path.join(folder, "__init__.py")) and not is_script

    @property
    def linked(self) -> bool:
        """True if the file imports another file of its program, or is imported."""
        stems = {_stem(other) for other in self._others}
        return bool(stems & imported(self._own)) or any(True for _ in self._importers())

    @property
    def taken(self) -> set[str]:
        """Return the names that importers read and do not bind themselves."""
        return {name for path, text in self._importers() for name in _free_names(path, text)}

    @property
    def has_classes(self) -> bool:
        """True if a file that imports the file, or that it imports, asks for classes."""
        stems = imported(self._own)
        linked = {path for path, _ in self._importers()}
        linked |= {path for path in self._others if _stem(path) in stems}
        return any(b"ResultFormat.CLASS" in _text(path, {}) for path in linked)

    @property
    def has_contexts(self) -> bool:
        """True if a file that imports the file still has contexts or protocols of v1."""
        return any(_LEGACY.search(text) for _, text in self._importers())

    def _importers(self) -> Iterable[tuple[str, bytes]]:
        return ((path, text) for path, text in self._others.items() if self._stem in imported(text))


def importers_first(paths: list[str]) -> list[str]:
    """Sort files so that each file comes after its importers."""
    importers: dict[str, list[str]] = {}
    for path in paths:
        for stem in sorted(imported(_text(path, {}))):
            importers.setdefault(stem, []).append(path)
    ordered: list[str] = []
    visiting: set[str] = set()

    def visit(path: str) -> None:
        if path in visiting:
            return
        visiting.add(path)
        for other in importers.get(_stem(path), ()):
            visit(other)
        ordered.append(path)

    for path in paths:
        visit(path)
    return ordered


def imported(text: bytes) -> set[str]:
    """Return the last names of the modules that a text may import."""
    stems: set[str] = set()
    for module, names in _IMPORTS.findall(text.decode("utf-8", "replace")):
        stems.add(module.rpartition(".")[2])
        parts = re.split(r"[,()\s]+", names.partition("#")[0])
        stems.update(part.rpartition(".")[2] for part in parts)
    return stems - {"", "*", "as"}


def _beside(path: str) -> list[str]:
    """Return the sources in a file's folder, and in the parent folder of a package."""
    folder = os.path.dirname(os.path.abspath(path))
    folders = [folder]
    if os.path.exists(os.path.join(folder, "__init__.py")):
        folders.append(os.path.dirname(folder))
    entries = ((place, name) for place in folders for name in sorted(os.listdir(place)))
    return [os.path.join(place, name) for place, name in entries if name.endswith(_ENDINGS)]


def _stem(path: str) -> str:
    """Return the name of a file in imports."""
    folder, name = os.path.split(os.path.abspath(path))
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem


def _text(path: str, texts: Mapping[str, bytes]) -> bytes:
    known = texts.get(os.path.abspath(path))
    if known is not None:
        return known
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _free_names(path: str, text: bytes) -> set[str]:
    """Return the names that a file reads and does not bind, attributes included."""
    try:
        nodes = list(ast.walk(parsed(path, text).tree))
    except Unreadable:
        return set(re.findall(r"[A-Za-z_]\w*", text.decode("utf-8", "replace")))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            read.add(node.attr)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Import):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and _is_library(node.module or ""):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            read |= {alias.name for alias in node.names}
    return read - bound - (star_of(API).keys() if "*" in bound else set())


def _is_library(module: str) -> bool:
    """True for a module of v1, of tritonclient or of NumPy, not of the program."""
    known = ("tensorrtserver", "tritonclient", "numpy", "future", "functools", "ctypes", "google")
    return module.partition(".")[0] in (*known, MODULE)
