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
_COMMENT = re.compile(r"#\s*tritonshim:([^#]*)")
_IGNORE = re.compile(r"\s*ignore\s*(?:\[([^\]]*)\].*|$)")
_EXPECTED = "expected `# tritonshim: ignore` or `# tritonshim: ignore[TS051, TS053]`"
_NOT_UNDERSTOOD = f"this comment hides nothing: {_EXPECTED}; a reason goes behind another #"


class IgnoreComment(NamedTuple):
    """One comment: where it stands, the first line that it is about, its ids, none for all."""

    line: int
    column: int
    first: int
    ids: tuple[str, ...] | None  # None if the comment is not understood: it hides nothing


def shown(
    source: ParsedSource, rows: list[UsageRow], only: Collection[str]
) -> tuple[list[UsageRow], list[str]]:
    """Return the uses that no comment hides, and what is wrong with the comments.

    ``only`` are the ids that the rows may have, none if they may have all.
    """
    comments = list(_comments(source))
    comment_at = {
        source.place(line): comment
        for comment in comments
        for line in range(comment.first, comment.line + 1)
    }
    hidden: dict[IgnoreComment, set[str]] = {comment: set() for comment in comments}
    left = []
    for row in rows:
        comment = comment_at.get((row.cell, row.line))
        if comment and comment.ids is not None and row.entry.id in (comment.ids or [row.entry.id]):
            hidden[comment].add(row.entry.id)
        else:
            left.append(row)
    notes = [
        f"{_place(source, comment)}: {problem}"
        for comment, ids in hidden.items()
        for problem in _problems(comment, ids, only)
    ]
    return left, notes


def _problems(comment: IgnoreComment, hidden: set[str], only: Collection[str]) -> Iterator[str]:
    if comment.ids is None:
        yield _NOT_UNDERSTOOD
        return
    if not (comment.ids or hidden or only):
        yield "nothing is found on this line; remove the comment"
    for id in comment.ids:
        if id not in ENTRIES:
            yield f"there is no id {id!r}; {_EXPECTED}"
        elif id not in hidden and (not only or id in only):
            yield f"{id} is not found on this line; remove it from the comment"


def _place(source: ParsedSource, comment: IgnoreComment) -> str:
    cell, line = source.place(comment.line)
    in_cell = "" if cell is None else f"cell {cell}:"
    return f"{relative(source.path)}:{in_cell}{line}:{comment.column}"


def _comments(source: ParsedSource) -> Iterator[IgnoreComment]:
    if not any(_MARK in line for line in source.lines):
        return
    spans: dict[int, int] = {}  # last line of a text of several lines → its first
    readline = io.StringIO("\n".join(source.lines)).readline
    for token in tokenize.generate_tokens(readline):
        line, column = token.start
        comment = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if comment:
            first = _first_line(source, spans, line)
            yield IgnoreComment(line, column + comment.start() + 1, first, _ids(comment[1]))
        elif token.end[0] > line and token.string.strip():
            spans[token.end[0]] = min(line, spans.get(token.end[0], line))


def _ids(text: str) -> tuple[str, ...] | None:
    """Return the ids in a comment, none for all; None if the comment is not understood."""
    ignore = _IGNORE.match(text.rstrip())
    if ignore is None:
        return None
    ids = dict.fromkeys(id.strip().upper() for id in (ignore[1] or "").split(",") if id.strip())
    return tuple(ids) if ids or ignore[1] is None else None


def _first_line(source: ParsedSource, spans: dict[int, int], line: int) -> int:
    """Return the first line of the statement part that ends on this line."""
    while True:
        if line in spans:
            line = spans.pop(line)
        elif line > 1 and source.lines[line - 2].endswith("\\"):
            line -= 1
        else:
            return line
