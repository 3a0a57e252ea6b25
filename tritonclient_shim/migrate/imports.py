"""What the imports of a file make of v1: modules, star imports, generated modules.

Also decides by its text if a file can have a legacy use. Other files are not parsed.
"""

from __future__ import annotations

import ast
import os
import re

from tritonclient_shim.migrate.sources import Unreadable, read
from tritonclient_shim.registry import BY_SYMBOL
from tritonclient_shim.shm.star_names import STAR_NAMES

API = "tensorrtserver.api"
_MODULES = (API, "tensorrtserver.shared_memory", "tensorrtserver.cuda_shared_memory")
_EXTRA = {"sys", "threading", "text_format"}  # v1's api module bound these, too
_GENERATED = frozenset(
    symbol.rpartition(".")[2] for symbol in BY_SYMBOL if symbol.rpartition("_")[2] == "pb2"
) | {"grpc_service_pb2_grpc"}
#: Names that only v1's generated modules have; Triton's have other names in files called alike.
ONLY_V1 = frozenset(
    ("GRPCServiceStub", "GRPCServiceServicer", "InferRequestHeader", "InferResponseHeader")
    + ("RequestStatusCode", "ServerReadyState", "ModelReadyState", "InferSharedMemory")
)
#: Generated modules whose names only v1 has.
_STATUS = ("request_status_pb2", "server_status_pb2")
_BYTES = [name.encode() for name in ("tensorrtserver", *_STATUS, *sorted(ONLY_V1))]
_STAR = re.compile(rb"\bfrom[ \t]+(\.*)(\w[.\w]*)[ \t]+import[ \t]*\*")
_NOT_V1 = ("tritonclient.", "tritongrpcclient.", "tritonclientutils.")


def star_of(module: str) -> dict[str, str]:
    """Return the names that a star import of a v1 module binds, and what each stands for."""
    symbols = {name: f"star import: {name}" for name in {*STAR_NAMES, *_EXTRA} - {"range"}}
    for symbol in BY_SYMBOL:
        owner, _, name = symbol.rpartition(".")
        if owner == module:
            symbols[name] = symbol
    return {**symbols, "np": "numpy", "partial": "functools.partial"}


def neighbour(path: str, module: str, level: int) -> str:
    """Return the file of a module that lies beside the importing file, or above it by its dots."""
    folder = os.path.dirname(path)
    for _ in range(level - 1):
        folder = os.path.dirname(folder)
    return os.path.join(folder, *module.split(".")) + ".py"


class Imports:
    """The imports of a file.

    ``legacy``: it imports tensorrtserver, itself or through another. ``vendored``: it uses a copy
    of v1's generated modules. ``symbols``: the dotted name of what is imported, '' for the file's
    own package.
    """

    def __init__(self, tree: ast.Module, path: str) -> None:
        self.star: dict[str, str] = {}  # names that a star import provides
        self.legacy = False
        path = os.path.abspath(path)
        self._visited = {path}
        self.vendored = _names_v1(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._see(alias.name)
            elif isinstance(node, ast.ImportFrom):
                self._see(node.module or "")
                if node.names[0].name == "*":
                    self._star(node, path)
        self.symbols = {
            alias: self._member(node, alias.name)
            if isinstance(node, ast.ImportFrom)
            else self._symbol(alias.name, 0)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }

    @property
    def uses_v1(self) -> bool:
        """True if the file can have a legacy use."""
        return self.legacy or self.vendored

    def _symbol(self, module: str, level: int) -> str:
        """Return the dotted name of an imported module; '' for one of the file's own package.

        A generated module of v1 has the name of tensorrtserver's, wherever a copy of it is.
        """
        name = module.rpartition(".")[2]
        copied = name in _GENERATED and not module.startswith((*_NOT_V1, "tensorrtserver."))
        if copied and self.uses_v1:
            return f"{API}.{name}"
        return "" if level else module

    def _member(self, node: ast.ImportFrom, name: str) -> str:
        """Return the dotted name of what ``from module import name`` imports."""
        owner = self._symbol(node.module or "", node.level)
        if not owner and name not in _GENERATED:
            return ""
        path = f"{node.module}.{name}" if owner == node.module else f"{owner}.{name}"
        return self._symbol(path if owner else name, node.level)

    def _see(self, module: str) -> None:
        self.legacy |= f"{module}.".startswith("tensorrtserver.")

    def _star(self, node: ast.ImportFrom, path: str) -> None:
        """Add what a star import binds: of a file beside the importing file, its star imports."""
        module = node.module or ""
        if module in _MODULES:
            self.star.update(star_of(module))
            return
        beside = neighbour(path, module, node.level)
        if not module or beside in self._visited or not os.path.exists(beside):
            return
        self._visited.add(beside)
        try:
            tree = read(beside).tree
        except Unreadable:
            return
        for inner in ast.walk(tree):
            if isinstance(inner, ast.ImportFrom) and inner.names[0].name == "*":
                self._see(inner.module or "")
                self._star(inner, beside)


def _names_v1(tree: ast.Module) -> bool:
    """True if the file uses a name that only v1's generated modules have."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ONLY_V1
        or isinstance(node, ast.alias)
        and node.name.rpartition(".")[2] in {*ONLY_V1, *_STATUS}
        for node in ast.walk(tree)
    )


def may_use_v1(path: str, text: bytes) -> bool:
    """True if a file has a name of v1, or star-imports a file beside it."""
    path = os.path.abspath(path)
    return any(name in text for name in _BYTES) or any(
        os.path.exists(neighbour(path, module.decode(), len(dots)))
        for dots, module in _STAR.findall(text)
    )
