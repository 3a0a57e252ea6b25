"""What the imports of a file make of v1: modules, star imports, generated modules.

Also decides by its text if a file can have a legacy use. Other files are not parsed.
"""

from __future__ import annotations

import ast
import os
import re
from contextlib import suppress
from itertools import dropwhile
from typing import Iterator

from tritonclient_shim.registry import BY_SYMBOL
from tritonclient_shim.registry.star_names import STAR_NAMES
from tritonclient_shim.scan.sources import Unreadable, read

API = "tensorrtserver.api"
_MODULES = (API, "tensorrtserver.shared_memory", "tensorrtserver.cuda_shared_memory")
_EXTRA = {"sys", "threading", "text_format"}  # v1's api module bound these, too
_GENERATED = frozenset(
    symbol.rpartition(".")[2] for symbol in BY_SYMBOL if symbol.rpartition("_")[2] == "pb2"
) | {"grpc_service_pb2_grpc"}
#: Names that only v1's generated modules have; Triton's have other names in files called alike.
_ONLY_V1 = (
    *("GRPCServiceStub", "GRPCServiceServicer", "InferRequestHeader", "InferResponseHeader"),
    *("RequestStatusCode", "ServerReadyState", "ModelReadyState", "InferSharedMemory"),
    *("request_status_pb2", "server_status_pb2"),
)
_BYTES = [name.encode() for name in ("tensorrtserver", *_ONLY_V1)]
_STAR = re.compile(rb"\bfrom[ \t]+(\.*)(\w[.\w]*)[ \t]+import[ \t]*\*")
_NOT_V1 = ("tritonclient.", "tritongrpcclient.", "tritonclientutils.")


def star_of(module: str) -> dict[str, str]:
    """Return the names that a star import of a v1 module binds, and what each stands for."""
    symbols = {name: f"star import: {name}" for name in {*STAR_NAMES, *_EXTRA} - {"range"}}
    own = (symbol for symbol in BY_SYMBOL if symbol.rpartition(".")[0] == module)
    symbols.update((symbol.rpartition(".")[2], symbol) for symbol in own)
    return {**symbols, "np": "numpy", "partial": "functools.partial"}


def neighbour(path: str, module: str, level: int) -> str:
    """Return the file of a module that lies beside the importing file, or above it by its dots."""
    above = [os.pardir] * (level - 1)
    return os.path.abspath(os.path.join(path, os.pardir, *above, *module.split("."))) + ".py"


def called_module(call: ast.Call) -> str:
    """Return the module that ``import_module("a.b")`` or ``__import__("a.b")`` imports.

    '' for any other call, and for a module that is not known from the source.
    """
    function = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if function not in ("import_module", "__import__"):
        return ""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    values = [*call.args[:1], *(keywords[name] for name in ("name",) if name in keywords)]
    names = [value.value for value in values if isinstance(value, ast.Constant)]
    if len(names) != 1 or not isinstance(names[0], str):
        return ""
    package = keywords.get("package", call.args[1] if len(call.args) > 1 else None)
    above = package.value if isinstance(package, ast.Constant) else ""
    is_relative = names[0].startswith(".") and isinstance(above, str)
    return str(above) + names[0] if is_relative else names[0]


class Imports:
    """The imports of a file.

    ``uses_v1``: it imports tensorrtserver, itself or through another, or uses a copy of v1's
    generated modules. ``symbols``: the dotted name of what is imported, '' for the file's own
    package.
    """

    def __init__(self, tree: ast.Module, path: str) -> None:
        self.star: dict[str, str] = {}  # names that a star import provides
        names = {getattr(node, "attr", "") for node in ast.walk(tree)}
        names.update(name.rpartition(".")[2] for _, name, _ in _imported(tree))
        self.uses_v1 = not names.isdisjoint(_ONLY_V1)
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        self.uses_v1 |= any(is_of_v1(called_module(call)) for call in calls)
        self.numpy: set[str] = set()  # names of NumPy that the program's own star imports provide
        self._visited: set[str] = set()
        self._follow(tree, os.path.abspath(path))
        self.symbols = {alias: self._symbol(name, level) for alias, name, level in _imported(tree)}

    def _symbol(self, name: str, level: int) -> str:
        """Return the dotted name of an import; '' for one of the file's own package.

        A generated module of v1 has the name of tensorrtserver's, wherever a copy of it is.
        """
        copied = list(dropwhile(lambda part: part not in _GENERATED, name.split(".")))
        if copied and self.uses_v1 and not name.startswith(_NOT_V1):
            return ".".join([API, *copied])
        return "" if level else name

    def _follow(self, tree: ast.Module, path: str) -> None:
        """Add what the star imports of a file bind, and those of files beside it."""
        self._visited.add(path)
        for _, name, level in _imported(tree):
            self.uses_v1 |= is_of_v1(name)
            module, _, last = name.rpartition(".")
            beside = neighbour(path, module, level)
            if last == "*" and module in _MODULES:
                self.star.update(star_of(module))
            elif last == "*" and module and beside not in self._visited:
                with suppress(Unreadable):
                    other = read(beside).tree
                    self.numpy |= _numpy_names(other)
                    self._follow(other, beside)


def modules_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the dotted names of all that a file imports, and the number of dots before them."""
    for _, name, level in _imported(tree):
        yield name, level


def _imported(tree: ast.Module) -> Iterator[tuple[ast.alias, str, int]]:
    """Yield what a file imports, its dotted name, and the number of dots before it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None)
            level = getattr(node, "level", 0)
            for alias in node.names:
                yield alias, f"{module}.{alias.name}" if module else alias.name, level


def _numpy_names(tree: ast.Module) -> set[str]:
    """Return the names that the imports of a module bind to NumPy."""
    imports = (node for node in tree.body if isinstance(node, ast.Import))
    aliases = (alias for node in imports for alias in node.names)
    return {alias.asname or alias.name for alias in aliases if alias.name == "numpy"}


def is_of_v1(name: str) -> bool:
    """True for a dotted name of the old package."""
    return f"{name}.".startswith("tensorrtserver.")


def may_use_v1(path: str, text: bytes) -> bool:
    """True if a file has a name of v1, or star-imports a file beside it."""
    return any(name in text for name in _BYTES) or any(
        os.path.exists(neighbour(path, module.decode(), len(dots)))
        for dots, module in _STAR.findall(text)
    )
