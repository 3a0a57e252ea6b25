"""Changes of a source: collected first, then applied together. All other text stays."""

from __future__ import annotations

import ast
import io
import re
from collections import defaultdict
from itertools import accumulate
from typing import Any, Callable, Iterable, Mapping, Tuple

Span = Tuple[int, int]  # offsets in the text
#: Text of a node, with the changes inside it → its new text.
Change = Callable[[str], str]
_BLANK = re.compile(r"(?:\s|#.*|\\\n)*")  # before an argument
_CLOSING = re.compile(r"(?:\s*\))*")  # after it


class Edits:
    """Planned changes: nodes, lines before and after statements, comments above them."""

    def __init__(self, text: str, parents: Mapping[ast.AST, ast.AST]) -> None:
        self._parents, self._whole = parents, (0, len(text))
        self._text = text if text.endswith("\n") else f"{text}\n"
        self._rows = io.StringIO(self._text, newline="").readlines()
        self._starts = [0, *accumulate(map(len, self._rows))]
        self._changes: dict[Span, list[Change]] = defaultdict(list)
        self._removed: set[ast.stmt] = set()
        self.before: dict[ast.stmt, list[str | Callable[[], str]]] = defaultdict(list)
        self.after: dict[ast.stmt, list[str]] = defaultdict(list)
        self.comments: dict[ast.stmt, list[str]] = defaultdict(list)

    def change(self, node: ast.AST, change: Change) -> None:
        """Replace a node by what a function returns for its text."""
        self._changes[self.span(node)].append(change)

    def remove(self, node: ast.stmt) -> None:
        """Remove a statement. Replace it by ``pass`` in a line or block that needs another."""
        parent = self._parents[node]
        blocks = (value for _, value in ast.iter_fields(parent) if isinstance(value, list))
        block = next(value for value in blocks if node in value)
        gone = {node, *self._removed}
        left = (part not in gone or self.before[part] or self.after[part] for part in block)
        if self.has_lines(node) and (isinstance(parent, ast.Module) or any(left)):
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
        above = self._text[self._starts[node.lineno - 1] : start]
        rest = self._text[end : self._starts[node.end_lineno or 0]]
        return not above.strip() and rest.strip()[:1] in ("", "#")

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

    # --- the result

    def new(self, node: ast.AST) -> str:
        """Return the text of a node with all changes."""
        return self.rendered(self.span(node))

    def rendered(self, span: Span) -> str:
        """Return a part of the text with all changes of nodes."""
        return _joined(self._text, span, self._nodes(span))

    def changed(self) -> str:
        """Return the text with all changes."""
        parts = {**self._nodes(self._whole), **self._lines()}
        return _joined(self._text, self._whole, parts)

    def _nodes(self, whole: Span, but: Span | None = None) -> dict[Span, str]:
        spans = (span for span in self._changes if _is_in(span, whole) and span != but)
        return {span: self._changed(span) for span in spans}

    def _changed(self, span: Span) -> str:
        text = _joined(self._text, span, self._nodes(span, but=span))
        for change in self._changes[span]:
            text = change(text)
        return text

    def _lines(self) -> dict[Span, str]:
        """Return the lines before, after and instead of statements."""
        lines: dict[Span, str] = defaultdict(str)
        for node in {**self.comments, **self.before, **self.after, **dict.fromkeys(self._removed)}:
            first = self._first_row(node)
            start, end = self._starts[first], self._starts[node.end_lineno or 0]
            above = self._indented(first, [*self._missing(node, first), *self.before.get(node, ())])
            below = self._indented(first, self.after.get(node, ()))
            if node in self._removed:
                while not above + below and first and not self._rows[first - 1].strip():
                    first -= 1
                lines[self._starts[first], end] = above + below
                continue
            lines[start, start] += above
            if below:
                lines[end, end] = below + lines[end, end]
        return lines

    def _first_row(self, node: ast.stmt) -> int:
        """Return the row of a statement, its first decorator, or lines that ``\\`` joins."""
        row: int = min(part.lineno for part in (node, *getattr(node, "decorator_list", ()))) - 1
        while row and self._rows[row - 1].rstrip("\r\n").endswith("\\"):
            row -= 1
        return row

    def _indented(self, row: int, texts: Iterable[str | Callable[[], str]]) -> str:
        """Return lines with the indentation and line break of a row."""
        old = self._rows[row]
        indent, newline = old[: len(old) - len(old.lstrip())], old[len(old.rstrip("\r\n")) :]
        lines = (text if isinstance(text, str) else text() for text in texts)
        return "".join(f"{indent}{x}{newline}" for text in lines for x in text.split("\n"))

    def _missing(self, node: ast.stmt, row: int) -> list[str]:
        """Return the comments of a statement that it lacks so far."""
        present = set()
        while row and self._rows[row - 1].strip()[:1] in ("", "#"):
            row -= 1
            present.add(self._rows[row].strip())
        return [text for text in dict.fromkeys(self.comments.get(node, ())) if text not in present]


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where a part of a text that a pattern matches ends."""
    match = pattern.match(text, start)
    return match.end() if match else start


def _is_in(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _joined(whole: str, span: Span, parts: Mapping[Span, str]) -> str:
    """Return a part of a text with its replacements. Ignore replacements inside of others."""
    text, at = "", span[0]
    for start, end in sorted(parts, key=lambda part: (part[0], part[0] < part[1], -part[1])):
        if start >= at:
            text += whole[at:start] + parts[start, end]
            at = end
    return text + whole[at : span[1]]
