"""Scenarios of the equivalence suite as scripts of 2019, a script for each file.

A scenario is a function that calls v1's API through a recorder (``tests/equivalence/program``). The
script calls the API itself and prints what the recorder would record:

=========================================  ======================================================
``see.open("simple", -1)``                 ``InferContext(url, protocol, "simple", -1)``
``see.of("ServerStatusContext")``          ``ServerStatusContext(url, protocol)``
``see.run("label", ctx, i, o)``            ``print("label", ctx.run(i, o))``
``see("label", ctx.load, "m")``            ``print("label", ctx.load("m"))``
``see.note("label", value)``               ``print("label", value)``
``see.getters("label", ctx)``              ``print("label", ctx.correlation_id(), …)``
=========================================  ======================================================

A script begins with the definitions that it uses, from the scenarios' file and the recorder.
"""

from __future__ import annotations

import ast
import re
from typing import Iterable, Mapping

from tests.equivalence.sides import PROGRAM, scenarios

#: Scenarios without refused requests, by file. They have no requests that only v1 accepts.
SCENARIOS: dict[str, tuple[str, ...]] = {
    "callbacks": ("run_in_callback", "chained", "partials", "classes"),
    "classes": ("models", "values", "ties", "integers", "two_dimensions"),
    "datatypes": ("numbers", "extremes", "results_are_private"),
    "inputs": ("two_variable", "tensor_names", "unchanged", "large"),
    "sequences": ("interleaved", "restarted", "classes"),
    "strings": ("fixed_width", "bytes_in_objects", "wide_text", "empty"),
    "sync": ("one", "batch", "output_order"),
}

_IMPORTS = (
    "import sys",
    "import threading",
    "from collections import OrderedDict",
    "from functools import partial",
    "import numpy as np",
    "from tensorrtserver.api import *",
    "import tensorrtserver.api as api",
    "import tensorrtserver.api.model_config_pb2 as model_config",
    "import tensorrtserver.api.server_status_pb2 as server_status",
    "import tensorrtserver.shared_memory as shm",
    "url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])",
)
_GETTERS = ("get_last_request_model_name", "get_last_request_model_version", "correlation_id")


def script_of(file: str) -> str:
    """Return the script of a file of scenarios."""
    tree = ast.parse((PROGRAM / "scenarios" / f"{file}.py").read_text("utf-8"))
    recorder = ast.parse((PROGRAM / "recorder.py").read_text("utf-8"))
    own = {name: _Written().visit(node) for name, node in _definitions(tree).items()}
    played = {
        element.partition(".")[2]: own.pop(element.partition(".")[2]) for element in scenarios(file)
    }
    wanted = [played[name] for name in SCENARIOS[file]]
    needed = _needed(wanted, {**_definitions(recorder), **own})
    calls = ast.parse("\n".join(f"{name}()" for name in SCENARIOS[file])).body
    module = ast.Module([*needed, *wanted, *calls], [])
    text = ast.unparse(ast.fix_missing_locations(module))
    return "\n".join([*(item for item in _IMPORTS if _is_used(item, text)), "", text, ""])


def _definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return the functions, classes and variables of a module, by name."""
    definitions: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            definitions[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            names = (node for node in ast.walk(statement.targets[0]) if isinstance(node, ast.Name))
            definitions.update((name.id, statement) for name in names)
    return definitions


def _needed(body: Iterable[ast.stmt], known: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """Return the definitions that statements need, in the order of ``known``."""
    wanted: list[ast.stmt] = []
    left = list(body)
    while left:
        names = (node.id for node in ast.walk(left.pop()) if isinstance(node, ast.Name))
        new = [known[name] for name in names if name in known and known[name] not in wanted]
        wanted += new
        left += new
    return [value for value in dict.fromkeys(known.values()) if value in wanted]


def _is_used(line: str, text: str) -> bool:
    """True if a script needs an import line, because it uses the imported name."""
    name = line.split()[-1]
    return "*" in line or "sys" in line or bool(re.search(rf"\b{name}\b", text))


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Written(ast.NodeTransformer):
    """A transformer that replaces the recorder's calls."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Return a function of the scenario's file, without the parameter ``see``."""
        self.generic_visit(node)
        node.args.args = [item for item in node.args.args if item.arg != "see"]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Drop assignments to attributes of the recorder."""
        target = node.targets[0]
        is_recorder = isinstance(target, ast.Attribute) and _is_see(target.value)
        return None if is_recorder else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace ``see…(…)`` by a ``print`` of the call that it makes."""
        self.generic_visit(node)
        function = node.func
        node.args = [item for item in node.args if not _is_see(item)]
        if isinstance(function, ast.Name) and function.id == "see":
            return _printed(node.args[0], ast.Call(node.args[1], node.args[2:], node.keywords))
        if not isinstance(function, ast.Attribute) or not _is_see(function.value):
            return node
        if function.attr == "open":
            return self._context("InferContext", node.args, node.keywords)
        if function.attr == "of":
            return self._context(ast.literal_eval(node.args[0]), node.args[1:], node.keywords)
        if function.attr == "note":
            return _printed(node.args[0], node.args[1])
        if function.attr == "getters":
            return _printed(node.args[0], *(_method(node.args[1], name) for name in _GETTERS))
        assert function.attr == "run", f"a script has nothing for see.{function.attr}"
        return _printed(
            node.args[0], _method(node.args[1], "run", *node.args[2:], keywords=node.keywords)
        )

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace the attributes of ``see`` by variables."""
        self.generic_visit(node)
        if _is_see(node.value):
            if node.attr == "grpc":
                return _expression("protocol == ProtocolType.GRPC")
            if node.attr == "streams":
                return _expression("(False, True) if protocol == ProtocolType.GRPC else (False,)")
            if node.attr in ("url", "protocol"):
                return ast.Name(node.attr, ast.Load())
        return node

    @staticmethod
    def _context(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.Call:
        place: list[ast.expr] = [ast.Name("url", ast.Load()), ast.Name("protocol", ast.Load())]
        return ast.Call(ast.Name(name, ast.Load()), [*place, *args], keywords)


def _is_see(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "see"


def _printed(label: ast.expr, *values: ast.expr) -> ast.Call:
    return ast.Call(ast.Name("print", ast.Load()), [label, *values], [])


def _method(
    owner: ast.expr, name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None
) -> ast.Call:
    return ast.Call(ast.Attribute(owner, name, ast.Load()), list(args), keywords or [])
