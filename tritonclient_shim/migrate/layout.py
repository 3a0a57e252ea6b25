"""Where the nodes of a source are in its text."""

from __future__ import annotations

import ast
import io
from itertools import accumulate, takewhile
from typing import Any, Mapping, Tuple

from tritonclient_shim.scan.sources import characters

Span = Tuple[int, int]  # offsets in the text


class Layout:
    """The text of a source, and the places of its nodes."""

    def __init__(self, text: str, parents: Mapping[ast.AST, ast.AST]) -> None:
        self._parents = parents
        self.whole = (0, len(text))
        #: with a last line break
        self.full_text = text if text.endswith("\n") else f"{text}\n"
        self.rows = tuple(io.StringIO(self.full_text, newline="").readlines())
        #: where the rows start, and the end of the text
        self.starts = (0, *accumulate(map(len, self.rows)))

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        return self.full_text[slice(*self.span(node))]

    def span(self, node: Any) -> Span:
        """Return where a node is in the text."""
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno, node.end_col_offset)

    def column(self, offset: int) -> int:
        """Return the column of an offset, from 0."""
        return offset - self.full_text.rfind("\n", 0, offset) - 1

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement around a node."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def block(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that a statement is in."""
        parent = self._parents[node]
        lists = (part for part in vars(parent).values() if isinstance(part, list))
        return next(part for part in lists if node in part)

    def is_of_module(self, node: ast.stmt) -> bool:
        """True if a statement is in no other statement."""
        return isinstance(self._parents[node], ast.Module)

    def has_lines(self, node: ast.stmt) -> bool:
        """True if no other statement shares a line with a statement."""
        start, end = self.span(node)
        above = self.full_text[self.starts[node.lineno - 1] : start]
        rest = self.full_text[end : self.starts[node.end_lineno or 0]]
        return not above.strip() and rest.strip()[:1] in ("", "#")

    def first_row(self, node: ast.stmt) -> int:
        """Return the row of a statement, its first decorator, or lines that ``\\`` joins."""
        row: int = min(part.lineno for part in (node, *getattr(node, "decorator_list", ()))) - 1
        while row and self.rows[row - 1].rstrip("\r\n").endswith("\\"):
            row -= 1
        return row

    def comments_above(self, node: ast.stmt) -> list[str]:
        """Return the comments and empty lines above a statement, without indentation."""
        above = reversed(self.rows[: self.first_row(node)])
        lines = (row.strip() for row in above)
        return list(takewhile(lambda line: line[:1] in ("", "#"), lines))

    def blank_rows(self, node: ast.stmt) -> int:
        """Return how many empty lines follow a statement; many at the end of the text."""
        below = self.rows[node.end_lineno or 0 :]
        if not any(map(str.strip, below)):
            return len(self.rows)
        return len(list(takewhile(lambda row: not row.strip(), below)))

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a column, which counts bytes of UTF-8."""
        start = self.starts[line - 1]
        return start + characters(self.full_text[start : self.starts[line]], column)
