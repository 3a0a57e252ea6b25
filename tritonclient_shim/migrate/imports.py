"""What the imports of a file make of v1: modules, star imports, generated modules.

Also decides by its text if a file can have a legacy use. Other files are not parsed.
"""

from __future__ import annotations

import ast
import os
import re
from contextlib import suppress

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


class Imports:
    """The imports of a file.

    ``legacy``: it imports tensorrtserver, itself or through another. ``vendored``: it uses a copy
    of v1's generated modules. ``symbols``: the dotted name of what is imported, '' for the file's
    own package.
    """

    def __init__(self, tree: ast.Module, path: str) -> None:
        self.star: dict[str, str] = {}  # names that a star import provides
        self.legacy = False
        self._visited: set[str] = set()
        self._follow(tree, os.path.abspath(path))
        self.vendored = any(_names_v1(node) for node in ast.walk(tree))
        self.symbols: dict[ast.alias, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.symbols.update((alias, self._symbol(alias.name, 0)) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                owner = self._symbol(node.module or "", node.level)
                for alias in node.names:
                    name = f"{owner}.{alias.name}" if owner else alias.name
                    self.symbols[alias] = self._symbol(name, 0 if owner else node.level)

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

    def _follow(self, tree: ast.Module, path: str) -> None:
        """Add what the star imports of a file bind, and those of files beside it."""
        self._visited.add(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.legacy |= any(is_of_v1(alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                self.legacy |= is_of_v1(module)
                if node.names[0].name != "*" or not module:
                    continue
                beside = neighbour(path, module, node.level)
                if module in _MODULES:
                    self.star.update(star_of(module))
                elif beside not in self._visited and os.path.exists(beside):
                    with suppress(Unreadable):
                        self._follow(read(beside).tree, beside)


def is_of_v1(name: str) -> bool:
    """True for a dotted name of the old package."""
    return f"{name}.".startswith("tensorrtserver.")


def _names_v1(node: ast.AST) -> bool:
    """True for a name that only v1's generated modules have."""
    name = node.name if isinstance(node, ast.alias) else getattr(node, "attr", "")
    return name.rpartition(".")[2] in _ONLY_V1


def may_use_v1(path: str, text: bytes) -> bool:
    """True if a file has a name of v1, or star-imports a file beside it."""
    return any(name in text for name in _BYTES) or any(
        os.path.exists(neighbour(path, module.decode(), len(dots)))
        for dots, module in _STAR.findall(text)
    )
