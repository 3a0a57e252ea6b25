"""Habits of words that hide who does what stay rare."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Iterator

import pytest

from tests.architecture.source import ROOT, trees

FOLDERS = ("tensorrtserver", "tritonclient_shim", "testbed", "benchmarks", "demo", "tests")
#: Text that describes a thing where it should say what a function does: "Return …", "True if …".
_DESCRIBES = re.compile(r"(The|A|An|What|Whether)\b")
_WHICH = re.compile(r"\b(of|by|in|with|to) which\b")
NAMES = ("found", "made", "told", "given", "came")
#: How many places may have a habit.
LIMITS = {**dict.fromkeys(NAMES, 10), "for one": 10, "which": 5, "docstring": 20}


def bound(node: ast.AST) -> str:
    """Return the name that a node binds, or an empty text."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else ""
    return node.arg if isinstance(node, ast.arg) else ""


def habits(node: ast.AST) -> Iterator[str]:
    """Yield the habits that a node of a program has."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        docstring = ast.get_docstring(node) or ""
        if _DESCRIBES.match(docstring) and not node.name.startswith("test_"):  # a requirement
            yield "docstring"
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and bound(node.target) == "one":
        yield "for one"
    if bound(node) in NAMES:
        yield bound(node)


@lru_cache(maxsize=None)
def places() -> dict[str, list[str]]:
    """Return the files with each habit, once for each time."""
    result: dict[str, list[str]] = {habit: [] for habit in LIMITS}
    for path, tree in trees(*FOLDERS).items():
        for node in ast.walk(tree):
            for habit in habits(node):
                result[habit].append(path)
        result["which"] += [path] * len(_WHICH.findall((ROOT / path).read_text("utf-8")))
    return result


@pytest.mark.parametrize("habit", LIMITS)
def test_words(habit: str) -> None:
    """The sources have no more of a habit than its limit."""
    assert len(places()[habit]) <= LIMITS[habit], (
        f"{habit!r} is in {places()[habit]}; expected {LIMITS[habit]} places. Begin docstrings "
        "with a verb, name things by what they are; CONTRIBUTING.md has examples"
    )
