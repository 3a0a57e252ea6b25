"""Read the migration guide, or a section of it.

Name a section by its heading, by an id or symbol, or by the text of an error.
`settings` is the page on settings. A long text comes in a pager, on a terminal.
For the code of a single symbol, `explain` is shorter.

Exit status: 0 printed, 1 there is no such section.
"""

from __future__ import annotations

import argparse
import os
import re
from difflib import get_close_matches
from typing import Iterator, NamedTuple

from tritonclient_shim.cli import show_long, tell
from tritonclient_shim.cli._terminal import painted_headings
from tritonclient_shim.registry.entry import RegistryEntry, anchor_of

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: A word as short as this may be part of many errors.
_SHORT = 8
#: Show at most this many sections that a text may mean.
_CANDIDATES = 5
_EXPECTED = (
    "expected a section that `tritonclient-shim guide --list` names, an id, or the text of an error"
)
#: Column of the guide → what its code needs.
_IMPORTS = {
    "grpc": "  (import tritonclient.grpc as grpcclient)",
    "http": "  (import tritonclient.http as httpclient)",
}
#: A block of code, with its label and the words of its fence if it has them.
_BLOCK = re.compile(r"^(?:\*\*([^*\n]+)\*\*\n)?```(.*)\n((?s:.*?))^```\n", re.MULTILINE)


class Section(NamedTuple):
    """A heading, and the text from it to the next heading of its level or of a higher one."""

    heading: str
    level: int
    text: str

    @property
    def errors(self) -> list[str]:
        """Return the error texts that the heading quotes; "…" stands for what varies."""
        return [quote.rstrip(" …") for quote in re.findall(r"`([^`]+)`", self.heading)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim guide``."""
    add = parser.add_argument
    add("section", nargs="?", metavar="SECTION|ID|TEXT",
        help="a section, such as inference or settings, an id, such as TS051, or the text of an "
        "error; otherwise the whole guide")  # fmt: skip
    add("--list", action="store_true", help="name the sections")


def run(arguments: argparse.Namespace) -> int:
    """Print the guide, a section of it or the list of its sections → exit status."""
    if arguments.list:
        text = "".join(_listed())
    elif arguments.section is None:
        text = shown(_page("migration_guide.md"))
    else:
        section = find_section(arguments.section) or _of_symbol(arguments.section)
        if section is None:
            advice = _advice(arguments.section)
            tell("guide", f"there is no section {arguments.section!r}; {advice}")
            return 1
        text = shown(section.text)
    show_long(painted_headings(text))
    return 0


# ------------------------------------------------------------------------- the sections


def sections() -> dict[str, Section]:
    """Return every section by its anchor: the guide's in order, then those of the settings."""
    guide = _sections_of(_page("migration_guide.md"))
    return {**guide, **_sections_of(_page("settings.md")), **guide}


def _page(name: str) -> str:
    with open(os.path.join(_PACKAGE, name), encoding="utf-8") as file:
        return file.read()


def _sections_of(page: str) -> dict[str, Section]:
    lines = page.splitlines(keepends=True)
    headings = list(_headings(lines))
    sections = {}
    for rank, (start, level, heading) in enumerate(headings):
        ends = (line for line, depth, _ in headings[rank + 1 :] if depth <= level)
        text = "".join(lines[start : next(ends, len(lines))])
        sections[anchor_of(heading)] = Section(heading, level, text)
    return sections


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line number, level and text of each heading outside code blocks."""
    in_code = False
    for number, line in enumerate(lines):
        in_code ^= line.startswith("```")
        marks, _, heading = line.strip().partition(" ")
        if not in_code and heading and set(marks) == {"#"}:
            yield number, len(marks), heading


def _listed() -> Iterator[str]:
    """Yield a line for each section: its name, or its error in quotes."""
    for anchor, section in sections().items():
        indent = "  " * (section.level - 1)
        yield f'{indent}"{section.errors[0]}"\n' if section.errors else f"{indent}{anchor}\n"


def find_section(what: str) -> Section | None:
    """Return the section of this name, id or error, or the only section with such a name."""
    by_anchor = sections()
    anchor = _anchor(what)
    fitting = [name for name in by_anchor if anchor in name]
    if anchor not in by_anchor and _is_symbol(what):
        return None  # candidates help more than the text of an error that contains the word
    if anchor in by_anchor or len(fitting) == 1:
        return by_anchor[anchor if anchor in by_anchor else fitting[0]]
    titles = [name for name in fitting if not by_anchor[name].errors]
    if len(titles) > 1:
        return None
    return _of_error(what, list(by_anchor.values()))


def _of_symbol(what: str) -> Section | None:
    """Return the section of a symbol such as ``InferContext.run``, if it has only one."""
    from tritonclient_shim.registry.search import find_entries

    anchors = {entry.anchor for entry in find_entries(what)} if "." in what else set()
    return sections()[anchors.pop()] if len(anchors) == 1 else None


def _is_symbol(what: str) -> bool:
    from tritonclient_shim.registry import ENTRIES

    return any(entry.symbol.endswith(f".{what}") for entry in ENTRIES.values())


def _advice(what: str) -> str:
    """Return the sections that a text may mean, or else what was expected."""
    from tritonclient_shim.registry.search import find_entries

    anchor = anchor_of(what)
    names = [name for name in sections() if anchor and anchor in name]
    names += [entry.anchor for entry in find_entries(what)]
    names = names or get_close_matches(anchor, sections(), _CANDIDATES)
    near = ", ".join([*dict.fromkeys(names)][:_CANDIDATES])
    return f"did you mean {near}?" if near else _EXPECTED


def _anchor(what: str) -> str:
    """Return the anchor of ``Inference``, ``#inference``, ``page.md#inference`` or an id."""
    from tritonclient_shim.registry import ENTRIES

    if what.upper() in ENTRIES:
        return ENTRIES[what.upper()].anchor
    return anchor_of(what.rpartition("#")[2])


def _of_error(text: str, candidates: list[Section]) -> Section | None:
    """Return the section that quotes most of an error."""
    quotes = {quote: section for section in candidates for quote in section.errors}
    is_long = len(text) > _SHORT
    fitting = [quote for quote in quotes if quote in text or (is_long and text in quote)]
    return quotes[max(fitting, key=len)] if fitting else None


# ---------------------------------------------------------------------------- their code


def shown(text: str) -> str:
    """Return Markdown as a terminal shows it: code indented, its label a heading above it."""
    return _BLOCK.sub(_block, text)


def _block(block: re.Match[str]) -> str:
    label, words, code = block.groups()
    heading = f"  {label}{_IMPORTS.get(_column(words), '')}\n" if label else ""
    lines = (f"    {line}".rstrip() + "\n" for line in code.splitlines())
    return f"{heading}{''.join(lines)}"


def _column(words: str) -> str:
    """Return ``grpc`` of the fence's words ``python grpc`` and ``python prelude grpc``."""
    marks = [word for word in words.split()[1:] if word != "prelude"]
    return marks[0] if marks else ""


def code_of(entry: RegistryEntry) -> str:
    """Return the entry's code in v1 and now, as the guide has it.

    Of several examples in a section, choose the first whose v1 code has the entry's words, or
    else the first. A section without code is returned whole.
    """
    section = sections()[entry.anchor].text
    examples: list[str] = []
    for block in _BLOCK.finditer(section):
        if _column(block[2]) == "v1":
            examples.append("")
        if examples and _column(block[2]) in ("v1", *_IMPORTS):
            examples[-1] += _block(block)
    pattern = re.compile(rf"\b{re.escape(entry.shown_by)}")
    about = [text for text in examples if pattern.search(text.partition("\n  trit")[0])]
    return (about or examples or [f"\n{shown(section)}"])[0]
