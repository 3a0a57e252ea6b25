"""``guide``: the migration guide and the page on settings, installed with us, by sections."""

from __future__ import annotations

import os
import re
from operator import itemgetter
from typing import Iterable, NamedTuple

from tritonclient_shim.registry.entry import anchor_of

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: A word as short as this may be part of many errors.
_SHORT = 8
#: A longer anchor has a short name.
_LONG = 30


class Section(NamedTuple):
    """A heading, and the text from it to the next heading of its level or of a higher one."""

    heading: str
    level: int
    text: str


def text(page: str = "migration_guide.md") -> str:
    """The whole guide, or the other page."""
    with open(os.path.join(_PACKAGE, page), encoding="utf-8") as file:
        return file.read()


def sections() -> dict[str, Section]:
    """Every section by its anchor: the guide's in its order, and then those of the settings."""
    guide = _sections_of(text())
    others = _sections_of(text("settings.md"))
    return {**guide, **{anchor: one for anchor, one in others.items() if anchor not in guide}}


def _sections_of(page: str) -> dict[str, Section]:
    lines = page.splitlines(keepends=True)
    starts = _headings(lines)
    found = {}
    for rank, (start, level, heading) in enumerate(starts):
        after = (line for line, depth, _ in starts[rank + 1 :] if depth <= level)
        body = "".join(lines[start : next(after, len(lines))])
        found[anchor_of(heading)] = Section(heading, level, body)
    return found


def short_names(anchors: Iterable[str]) -> list[str]:
    """Return for each anchor the fewest of its words that begin no other; whole if it is short."""
    anchors = list(anchors)
    names = []
    for anchor in anchors:
        words = anchor.split("-")
        starts = ("-".join(words[:count]) for count in range(1, len(words) + 1))
        unique = (one for one in starts if sum(_begins(other, one) for other in anchors) == 1)
        names.append(anchor if len(anchor) <= _LONG else next(unique, anchor))
    return names


def of_name(name: str) -> Section | None:
    """Return the section whose anchor alone begins with these words."""
    fitting = [section for anchor, section in sections().items() if _begins(anchor, name)]
    return fitting[0] if len(fitting) == 1 else None


def _begins(anchor: str, name: str) -> bool:
    return f"{anchor}-".startswith(f"{name}-")


def of_error(said: str) -> Section | None:
    """The section whose heading quotes what an error says, or more of it; the longest quotation."""
    fitting = [
        (len(quoted), one)
        for one in sections().values()
        for quoted in re.findall(r"`([^`]+)`", one.heading)
        if quoted in said or (len(said) > _SHORT and said in quoted)
    ]
    return max(fitting, default=(0, None), key=itemgetter(0))[1]


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Line number, level and text of each heading; a ``#`` line in a code block is a comment."""
    found = []
    in_code = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            in_code = not in_code
        marks, _, heading = line.strip().partition(" ")
        if not in_code and heading and set(marks) == {"#"}:
            found.append((number, len(marks), heading))
    return found
