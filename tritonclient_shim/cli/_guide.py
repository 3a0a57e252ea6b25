"""The migration guide and the page on settings, installed with us: sections and code."""

from __future__ import annotations

import os
import re
from operator import itemgetter
from typing import Iterable, NamedTuple

from tritonclient_shim.registry.entry import RegistryEntry, anchor_of

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
    """Return the whole guide, or the other page."""
    with open(os.path.join(_PACKAGE, page), encoding="utf-8") as file:
        return file.read()


def sections() -> dict[str, Section]:
    """Return every section by its anchor: the guide's in order, then those of the settings."""
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
    """Return the section whose heading quotes most of what an error says."""
    fitting = [
        (len(quoted), one)
        for one in sections().values()
        for quoted in re.findall(r"`([^`]+)`", one.heading)
        if quoted in said or (len(said) > _SHORT and said in quoted)
    ]
    return max(fitting, default=(0, None), key=itemgetter(0))[1]


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return line number, level and text of each heading outside code blocks."""
    found = []
    in_code = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            in_code = not in_code
        marks, _, heading = line.strip().partition(" ")
        if not in_code and heading and set(marks) == {"#"}:
            found.append((number, len(marks), heading))
    return found


#: A column of the guide → what stands above its code.
_TITLES = {
    "v1": "before",
    "grpc": "now, on gRPC  (import tritonclient.grpc as grpcclient)",
    "http": "now, over HTTP  (import tritonclient.http as httpclient)",
}
_BLOCK = re.compile(r"^```python ([\w ]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class CodePair(NamedTuple):
    """The code of one operation, by column; the first column is ``v1``."""

    columns: dict[str, str]

    @property
    def text(self) -> str:
        """Return each column below its title, indented; PyTriton's is left to the guide."""
        return "".join(
            f"  {_TITLES[name]}\n{_indented(code)}"
            for name, code in self.columns.items()
            if name in _TITLES
        )


def pair_of(entry: RegistryEntry) -> CodePair | None:
    """Return the entry's pair of blocks in its section; None if the section has no code.

    That is the first pair whose code before has the entry's words, or else the section's first.
    """
    pairs = _pairs(sections()[entry.anchor].text)
    if not pairs:
        return None
    pattern = rf"\b{re.escape(entry.shown_by)}"
    return next((pair for pair in pairs if re.search(pattern, pair.columns["v1"])), pairs[0])


def _pairs(text: str) -> list[CodePair]:
    """Return the pairs of a section, in order."""
    found: list[CodePair] = []
    for marks, code in _BLOCK.findall(text):
        (name, *_) = [word for word in marks.split() if word != "prelude"]
        if name == "v1":
            found.append(CodePair({}))
        found[-1].columns[name] = code
    return found


def _indented(code: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in code.splitlines())
