"""Comments ``# tritonshim: ignore[TS051]`` in a source, and the uses that they hide."""

from __future__ import annotations

import io
import re
import tokenize
from typing import Collection, Iterator, NamedTuple

from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.usage.rows import UsageRow, relative

_MARK = "tritonshim:"
_COMMENT = re.compile(r"#\s*tritonshim:(?P<text>[^#]*)")
_IGNORE = re.compile(r"\s*ignore\s*(?:\[(?P<ids>[^\]]*)\].*|$)")
_EXPECTED = "expected `# tritonshim: ignore` or `# tritonshim: ignore[TS051, TS053]`"


class IgnoreComment(NamedTuple):
    """One comment: where it stands, the first line that it is about, its ids, none for all."""

    line: int
    column: int
    first: int
    ids: tuple[str, ...]
    problem: str = ""  # what is wrong with it: then it hides nothing


class IgnoreOutcome(NamedTuple):
    """The uses that are left, how many are hidden, and what is to be told about the comments."""

    rows: list[UsageRow]
    hidden: int
    notes: list[str]


def applied(
    source: ParsedSource, rows: list[UsageRow], looked_for: Collection[str]
) -> IgnoreOutcome:
    """Hide what comments in the source say; tell of comments that hide nothing.

    ``looked_for`` are the ids that the rows may have, none where they may have all.
    """
    comments = list(_comments(source))
    if not comments:
        return IgnoreOutcome(rows, 0, [])
    by_place = {
        source.place(line): one for one in comments for line in range(one.first, one.line + 1)
    }
    used: dict[IgnoreComment, set[str]] = {one: set() for one in comments}
    left = []
    for row in rows:
        comment = by_place.get((row.cell, row.line))
        if comment is not None and _hides(comment, row.entry.id):
            used[comment].add(row.entry.id)
        else:
            left.append(row)
    notes = [
        f"{_place(source, comment)}: {problem}"
        for comment in comments
        for problem in _problems(comment, used[comment], looked_for)
    ]
    return IgnoreOutcome(left, len(rows) - len(left), notes)


def _hides(comment: IgnoreComment, id: str) -> bool:
    return not comment.problem and (not comment.ids or id in comment.ids)


def _place(source: ParsedSource, comment: IgnoreComment) -> str:
    cell, line = source.place(comment.line)
    in_cell = "" if cell is None else f"cell {cell}:"
    return f"{relative(source.path)}:{in_cell}{line}:{comment.column}"


def _problems(comment: IgnoreComment, used: set[str], looked_for: Collection[str]) -> Iterator[str]:
    if comment.problem:
        yield comment.problem
    elif not comment.ids and not used and not looked_for:
        yield "nothing is found on this line; remove the comment"
    for id in comment.ids:
        if id not in ENTRIES:
            yield f"there is no id {id!r}; {_EXPECTED}"
        elif id not in used and (not looked_for or id in looked_for):
            yield f"{id} is not found on this line; remove it from the comment"


def _comments(source: ParsedSource) -> Iterator[IgnoreComment]:
    if not any(_MARK in line for line in source.lines):
        return
    spans: dict[int, int] = {}  # last line of a text of several lines → its first
    readline = io.StringIO("\n".join(source.lines)).readline
    for token in tokenize.generate_tokens(readline):
        line = token.start[0]
        found = token.type == tokenize.COMMENT and _COMMENT.search(token.string)
        if found:
            column = token.start[1] + found.start() + 1
            yield _comment(line, column, _first(source, spans, line), found["text"])
        elif token.end[0] > line and token.string.strip():
            spans[token.end[0]] = min(line, spans.get(token.end[0], line))


def _comment(line: int, column: int, first: int, text: str) -> IgnoreComment:
    found = _IGNORE.match(text.rstrip())
    ids = [id.strip().upper() for id in ((found and found["ids"]) or "").split(",") if id.strip()]
    if found is None or (found["ids"] is not None and not ids):
        problem = f"this comment hides nothing: {_EXPECTED}; a reason goes behind another #"
        return IgnoreComment(line, column, first, (), problem)
    return IgnoreComment(line, column, first, tuple(dict.fromkeys(ids)))


def _first(source: ParsedSource, spans: dict[int, int], line: int) -> int:
    """Return the first line of the statement part that this line's comment is about."""
    while True:
        if line in spans:
            line = spans.pop(line)
        elif line > 1 and source.lines[line - 2].endswith("\\"):
            line -= 1
        else:
            return line
