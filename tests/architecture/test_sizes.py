"""Files and functions stay small enough to read at once (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from typing import Iterator, Union

from tests.architecture.source import PACKAGES, ROOT, trees

FILE_LINES = 600  # a smell, not a law: one idea, one module
FUNCTION_LINES = 40  # without its docstring
OWN = (*PACKAGES, "testbed", "demo", "benchmarks")

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def functions() -> Iterator[tuple[str, Function]]:
    """Yield every function of ours with its place and name."""
    for path, tree in trees(*OWN).items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path}:{node.lineno} {node.name}", node


def length(function: Function) -> int:
    """Return the number of lines of a function, without its docstring."""
    first = function.body[0]
    return _lines(function) - (_lines(first) if ast.get_docstring(function) else 0)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_are_short() -> None:
    """No source or test file of ours is longer than the limit."""
    counts = {
        path: len((ROOT / path).read_text("utf-8").splitlines()) for path in trees(*OWN, "tests")
    }
    assert not {path: count for path, count in counts.items() if count > FILE_LINES}


def test_functions_are_short() -> None:
    """No function of ours is longer than the limit."""
    result = {place: length(function) for place, function in functions()}
    assert not {place: count for place, count in result.items() if count > FUNCTION_LINES}
