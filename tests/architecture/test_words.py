"""Habits of words that hide who does what stay rare.

Run ``python -m tests.architecture.test_words`` to print the counts of the rooms.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import lru_cache

import pytest

from tests.architecture.source import ROOT, trees

FOLDERS = ("tensorrtserver", "tritonclient_shim", "testbed", "benchmarks", "demo", "tests")
#: Text that describes a thing where it should say what a function does: "Return …", "True if …".
_DESCRIBES = re.compile(r"(The|A|An|What|Whether)\b")
_WHICH = re.compile(r"\b(of|by|in|with|to) which\b")
NAMES = ("found", "made", "told", "given", "came")
HABITS = ("docstrings", "which", "for one", *NAMES)
#: The limits of all rooms together; docstrings in per cent.
LIMITS = {**dict.fromkeys(HABITS, 10), "docstrings": 5, "which": 5}


def room_of(path: str) -> str:
    """Return the folder of a file, as the table names it."""
    return "/".join(path.split("/")[:-1][:2])


def describes(function: str, docstring: str) -> bool:
    """True if the docstring describes. A test's states a requirement."""
    return not function.startswith("test_") and bool(_DESCRIBES.match(docstring))


def bound(node: ast.AST) -> str:
    """Return the name that a node binds, or an empty text."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else ""
    return node.arg if isinstance(node, ast.arg) else ""


def count(text: str, tree: ast.Module) -> Counter[str]:
    """Return how often each habit occurs in a program, and its number of docstrings."""
    counts = Counter({"which": sum(bool(_WHICH.search(line)) for line in text.splitlines())})
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node) or ""
            counts["docstrings"] += describes(node.name, docstring)
            counts["functions"] += bool(docstring)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            counts["for one"] += bound(node.target) == "one"
        if bound(node) in NAMES:
            counts[bound(node)] += 1
    return counts


@lru_cache(maxsize=None)
def counts_of_rooms() -> dict[str, Counter[str]]:
    """Return the counts of every room."""
    rooms: dict[str, Counter[str]] = {}
    for path, tree in trees(*FOLDERS).items():
        text = (ROOT / path).read_text("utf-8")
        rooms.setdefault(room_of(path), Counter()).update(count(text, tree))
    return rooms


@pytest.mark.parametrize("habit", HABITS)
def test_words(habit: str) -> None:
    """The sources have no more of a habit than its limit."""
    rooms = {room: counts[habit] for room, counts in counts_of_rooms().items() if counts[habit]}
    total = sum(rooms.values())
    if habit == "docstrings":
        total = 100 * total // sum(counts["functions"] for counts in counts_of_rooms().values())
    assert total <= LIMITS[habit], (
        f"{habit!r}: {total}, expected at most {LIMITS[habit]}. They are in {rooms}. "
        "Begin docstrings with a verb, name things by what they are, split sentences; "
        "CONTRIBUTING.md has examples"
    )


if __name__ == "__main__":
    for room, counts in sorted(counts_of_rooms().items()):
        if any(counts[habit] for habit in HABITS):
            print(f"{room:28}", *(f"{counts[habit]:3}" for habit in HABITS))
