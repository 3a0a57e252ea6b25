"""Changes of a source: collected first, then applied together. All other text stays."""

from __future__ import annotations

import ast
import io
import re
from bisect import bisect_right
from collections import defaultdict
from typing import Any, Callable, Mapping, Tuple

Span = Tuple[int, int]  # offsets in the text
#: Text of a node, with the changes inside it → its new text.
Change = Callable[[str], str]
_BLANK = re.compile(r"(?:\s|#.*|\\\n)*")  # before an argument
_CLOSING = re.compile(r"(?:\s*\))*")  # after it


class Edits:
    """Planned changes: nodes, lines before and after statements, comments above them."""

    def __init__(self, text: str, parents: Mapping[ast.AST, ast.AST]) -> None:
        self._text, self._parents = text, parents
        self._starts = _starts(self._text, 0)
        self._changes: dict[Span, list[Change]] = defaultdict(list)
        self._removed: set[ast.stmt] = set()
        self.before: dict[ast.stmt, list[str | Callable[[], str]]] = defaultdict(list)
        self.after: dict[ast.stmt, list[str]] = defaultdict(list)
        self.comments: dict[ast.stmt, list[str]] = defaultdict(list)

    @property
    def any(self) -> bool:
        """True if there is anything to change."""
        return any((self._changes, self._removed, self.before, self.after, self.comments))

    def change(self, node: ast.AST, change: Change) -> None:
        """Replace a node by what a function returns for its text."""
        self._changes[self.span(node)].append(change)

    def remove(self, node: ast.stmt) -> None:
        """Remove a statement. If other statements share its line, replace it by ``pass``."""
        if self.has_lines(node):
            self._removed.add(node)
        else:
            self.change(node, lambda old: "pass")

    # --- the source

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        start, end = self.span(node)
        return self._text[start:end]

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement around a node."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def has_lines(self, node: ast.stmt) -> bool:
        """True if no other statement shares a line with a statement."""
        start, end = self.span(node)
        above, rest = self._text[self._line(start)[0] : start], self._text[end : self._line(end)[1]]
        return not above.strip() and (not rest.strip() or rest.lstrip().startswith("#"))

    def arguments(self, call: ast.Call) -> list[Span]:
        """Return where each argument of a call is, with its keyword and its parentheses."""
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        limits = [*(self.span(value)[0] for value in values[1:]), self.span(call)[1] - 1]
        at = self._text.index("(", self.span(call.func)[1]) + 1
        spans = []
        for value, limit in zip(values, limits):
            start, end = _end(_BLANK, self._text, at), self.span(value)[1]
            spans.append((start, _end(_CLOSING, self._text[:limit], end)))
            at = self._text.find(",", end, limit) + 1
        return spans

    def span(self, node: Any) -> Span:
        """Return where a node is in the text."""
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a column, which counts bytes of UTF-8."""
        start = self._starts[line - 1]
        text = self._text[start : self._starts[line]]
        return start + len(text.encode()[:column].decode(errors="ignore"))

    def _line(self, offset: int) -> Span:
        """Return where the line of an offset begins, and where it ends before its line break."""
        number = min(bisect_right(self._starts, offset), len(self._starts) - 1)
        start, end = self._starts[number - 1], self._starts[number]
        return start, start + len(self._text[start:end].rstrip("\r\n"))

    def _newline(self, end: int) -> str:
        """Return the line break at the end of a line; that of the line before if it has none."""
        at = end if end < len(self._text) else self._text.rfind("\n") - 1
        return "\r\n" if self._text.startswith("\r\n", max(at, 0)) else "\n"

    def _block(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that a statement is in."""
        fields = (value for _, value in ast.iter_fields(self._parents[node]))
        return next(value for value in fields if isinstance(value, list) and node in value)

    # --- the result

    def new(self, node: ast.AST) -> str:
        """Return the text of a node with all changes."""
        return self.rendered(self.span(node))

    def rendered(self, span: Span) -> str:
        """Return a part of the text with all changes of nodes."""
        return _joined(self._text, span, self._nodes(span))

    def changed(self) -> str:
        """Return the text with all changes."""
        whole = (0, len(self._text))
        return _joined(self._text, whole, {**self._nodes(whole), **self._lines()})

    def _nodes(self, whole: Span) -> dict[Span, str]:
        return {span: self._changed(span) for span in self._changes if _is_in(span, whole)}

    def _changed(self, span: Span) -> str:
        inside = (inner for inner in self._changes if _is_in(inner, span) and inner != span)
        text = _joined(self._text, span, {inner: self._changed(inner) for inner in inside})
        for change in self._changes[span]:
            text = change(text)
        return text

    def _lines(self) -> dict[Span, str]:
        """Return the lines before, after and instead of statements."""
        lines: dict[Span, str] = {}
        for node in {**self.comments, **self.before, **self.after, **dict.fromkeys(self._removed)}:
            first = min([node, *getattr(node, "decorator_list", ())], key=lambda item: item.lineno)
            start, end = self._first_line(self.span(first)[0]), self._line(self.span(node)[1])[1]
            indent, newline = _indentation(self._text[start:end]), self._newline(end)
            before = (x if isinstance(x, str) else x() for x in self.before.get(node, ()))
            above = [*self._missing(node, start), *before]
            below = self.after.get(node, [])
            if node in self._removed:
                instead = [*above, *below] or self._filling(node)
                span = (start, end) if instead else self._with_break(start, end)
                lines[span] = newline.join(self._indented(instead, indent))
                continue
            for line in self._indented(above, indent):
                lines[start, start] = lines.get((start, start), "") + line + newline
            for line in self._indented(below, indent):
                lines[end, end] = lines.get((end, end), "") + newline + line
        return lines

    def _first_line(self, offset: int) -> int:
        """Return where the line of an offset begins, or the first of lines that ``\\`` joins."""
        start = self._line(offset)[0]
        while self._text[:start].rstrip("\r\n").endswith("\\"):
            start = self._line(start - 1)[0]
        return start

    def _indented(self, texts: list[str], indent: str) -> list[str]:
        return [indent + line for text in texts for line in text.split("\n")]

    def _missing(self, node: ast.stmt, start: int) -> list[str]:
        """Return the comments of a statement that it lacks so far."""
        present, above = set(), self._text[:start].splitlines()
        while above and (not above[-1].strip() or above[-1].lstrip().startswith("#")):
            present.add(above.pop().strip())
        return [text for text in dict.fromkeys(self.comments.get(node, ())) if text not in present]

    def _filling(self, node: ast.stmt) -> list[str]:
        """Return ``pass`` for the first statement of a block that loses all its statements."""
        block = self._block(node)
        is_first = node is block[0] and not isinstance(self._parents[node], ast.Module)
        is_empty = all(
            part in self._removed and not self.before.get(part) and not self.after.get(part)
            for part in block
        )
        return ["pass"] if is_first and is_empty else []

    def _with_break(self, start: int, end: int) -> Span:
        """Return the span of lines with the blank lines above and one line break."""
        above = self._text[:start].rstrip()
        if above:
            return len(above), end
        return start, min(end + len(self._newline(end)), len(self._text))


def _starts(text: str, first: int) -> list[int]:
    """Return the offset of each line, and of the end."""
    starts = [first]
    for line in io.StringIO(text, newline=""):
        starts.append(starts[-1] + len(line))
    return starts


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where a part of a text that a pattern matches ends."""
    match = pattern.match(text, start)
    return match.end() if match else start


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_in(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _joined(whole: str, span: Span, parts: Mapping[Span, str]) -> str:
    """Return a part of a text with its replacements. Ignore replacements inside of others."""
    text, at = "", span[0]
    for start, end in sorted(parts, key=lambda part: (part[0], part[0] < part[1], -part[1])):
        if start >= at:
            text += whole[at:start] + parts[start, end]
            at = end
        elif end > at:  # a removed line whose break before it is gone: the one after it goes
            at = whole.find("\n", end) + 1 or len(whole)
    return text + whole[at : span[1]]
