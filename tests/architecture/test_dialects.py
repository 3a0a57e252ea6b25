"""Only the table of dialects knows which servers there are (ARCHITECTURE.md)."""

from __future__ import annotations

import ast

from tests.architecture.source import PACKAGES, trees
from tests.architecture.test_effects import imported

SERVERS = "tritonclient_shim/servers/"
TABLE = f"{SERVERS}dialects.py"


def kinds_of_servers() -> frozenset[str]:
    """Return the modules that have a dialect: each says which servers it is for."""
    modules = set()
    for path, tree in trees(*PACKAGES).items():
        functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        if path.startswith(SERVERS) and path != TABLE and "dialect_of" in functions:
            modules.add(path[: -len(".py")].replace("/", "."))
    return frozenset(modules)


def test_nobody_else_knows_a_dialect() -> None:
    """No module but the table imports a dialect, and dialects do not know each other."""
    kinds = kinds_of_servers()
    assert "tritonclient_shim.servers.triton" in kinds
    importers = {
        path
        for path, tree in trees(*PACKAGES).items()
        for node in ast.walk(tree)
        for name in imported(node)
        if name in kinds or name.rpartition(".")[0] in kinds
    }
    assert importers == {TABLE}
