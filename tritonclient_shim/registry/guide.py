"""The migration guide that lies in this package, and its sections by their anchors."""

from __future__ import annotations

import os
from typing import NamedTuple

FILE = "migration_guide.md"
_PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), FILE)


class Section(NamedTuple):
    """A heading, and the text from it to the next heading of its level or of a higher one."""

    heading: str
    level: int
    text: str


def anchor_of(heading: str) -> str:
    """The heading's anchor, as GitHub makes it."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def text() -> str:
    """The whole guide."""
    with open(_PATH, encoding="utf-8") as file:
        return file.read()


def sections() -> dict[str, Section]:
    """Every section by its anchor, in the order of the guide."""
    lines = text().splitlines(keepends=True)
    starts = _headings(lines)
    found = {}
    for rank, (start, level, heading) in enumerate(starts):
        after = (line for line, depth, _ in starts[rank + 1 :] if depth <= level)
        body = "".join(lines[start : next(after, len(lines))])
        found[anchor_of(heading)] = Section(heading, level, body)
    return found


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Line number, level and text of each heading; a ``#`` in a block of code is none."""
    found = []
    in_code = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            in_code = not in_code
        marks, _, heading = line.strip().partition(" ")
        if not in_code and heading and set(marks) == {"#"}:
            found.append((number, len(marks), heading))
    return found
