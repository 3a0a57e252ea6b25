"""A ratchet of words: habits that hide who does what become rarer, room by room.

Run ``python -m tests.architecture.test_words`` to print the table with the counts of today.
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
#: The limits of a room without a row below; docstrings in per cent.
PERCENT, WHICH, NAME = 5, 1, 2
#: The limits of rooms that are not rewritten yet. Lower a row when its room improves; delete it
#: when the room meets the limits above. A folder that moves takes its row along.
ROOMS = """
demo/legacy                    2   0   0   0   0   0   0   0
tensorrtserver/api            12   0   0   0   0   0   4   0
testbed                       35   2  13  10   1   0   0   0
testbed/models                 0   0   9   0   0   0   0   0
testbed/open_models            8   0   7   0   1   0   2   0
tests                         14   1   3   5   1   0   0   0
tests/architecture            16   0  14  17   0   0   1   0
tests/backends                81   4  49  15  15   5   3   1
tests/cli                     10   2  14   4   0   0   1   0
tests/demo                     3   0   2   1   0   0   0   0
tests/equivalence             53   2  34  24   2   4   0   0
tests/gateway                 74   3  61  41   1   5   4   0
tests/installation            22   2   2  16   1   0   0   0
tests/migrate                 29   4  21  30   9   2   0   0
tests/oip                     14   3  22  23   0   3   1   0
tests/pages                    6   1   2   1   1   0   1   0
tests/reliability             87   5  32  23  34   7  10  11
tests/server                  91   6  24  36  15  10  33   1
tests/testing                  6   0   2   0   0   0   0   0
tests/typing                   1   0   1   3   0   0   0   0
tests/unit                    43   5  30  35  28   5   5   0
tritonclient_shim              2   0   1   2   0   0   2   0
tritonclient_shim/backends    82   4  37  38   8   3   9   0
tritonclient_shim/cli         41   2  20  20   1   3   5   0
tritonclient_shim/core        28   0   5  19   0   0   0   0
tritonclient_shim/gateway     95  10  10  17   0   3   2   5
tritonclient_shim/migrate     72   3  73  32   6   0   7   0
tritonclient_shim/notice       3   0   1   2   0   0   0   0
tritonclient_shim/registry     4   0   0   0   0   0   0   0
tritonclient_shim/rewrite    177  18 199  53  44   5   3   0
tritonclient_shim/service      8   0   0   2   0   0   0   0
tritonclient_shim/session     43   5   7   6   2   3   5   0
tritonclient_shim/settings    19   1   4  12   0   1   4   0
tritonclient_shim/shm          5   0   0   0   0   0   0   0
tritonclient_shim/stub        15   1   2   2   0   1   1   0
tritonclient_shim/translate   35   3  10  12   2   5  10   0
tritonclient_shim/usage        8   0   1  16   0   0   0   0
"""


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


def limits_of(room: str, functions: int) -> dict[str, int]:
    """Return the limits of a room: its row's, or the common ones where those are higher."""
    rows = {row.split()[0]: map(int, row.split()[1:]) for row in ROOMS.split("\n") if row}
    common = dict.fromkeys(HABITS, NAME)
    common.update({"docstrings": -(-functions * PERCENT // 100), "which": WHICH})
    row = dict(zip(HABITS, rows.get(room, ())))
    return {habit: max(common[habit], row.get(habit, 0)) for habit in HABITS}


@pytest.mark.parametrize("habit", HABITS)
def test_words(habit: str) -> None:
    """No room has more of a habit than its limit."""
    rooms = counts_of_rooms().items()
    limits = {room: limits_of(room, counts["functions"])[habit] for room, counts in rooms}
    above = {room: counts[habit] for room, counts in rooms if counts[habit] > limits[room]}
    allowed = {room: limits[room] for room in above}
    assert not above, (
        f"{habit!r}: {above}, expected at most {allowed}. "
        "Begin docstrings with a verb, name things by what they are, split sentences; "
        "CONTRIBUTING.md has examples. If files moved, move their limits in ROOMS"
    )


if __name__ == "__main__":
    for room, counts in sorted(counts_of_rooms().items()):
        limits = limits_of("", counts["functions"])
        if any(counts[habit] > limit for habit, limit in limits.items()):
            print(f"{room:28}", *(f"{counts[habit]:3}" for habit in HABITS))
