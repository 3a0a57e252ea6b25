"""Changes of a source: collected first, then applied together. All other text stays."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from typing import Any, Callable, Iterator, Mapping, Sequence, Tuple

Span = Tuple[int, int]  # offsets in the text
#: Text of a node, with the changes inside it → its new text.
Change = Callable[[str], str]
_OPENS_TEXT = re.compile(r"""(?i:f|fr|rf)(?:['"]|'{3}|"{3})$""")
_BLANK = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER)


class Edits:
    """Planned changes: nodes, lines before and after statements, comments above them.

    ``cells``: the source of each code cell of a notebook, or the source of a file.
    """

    def __init__(self, cells: Sequence[str], parents: Mapping[ast.AST, ast.AST]) -> None:
        self._text, self._parents = "\n".join(cells), parents
        ends = list(accumulate(len(cell) + 1 for cell in cells))
        self._cells = [(end - len(cell) - 1, end - 1) for cell, end in zip(cells, ends)]
        self._starts = _starts(self._text, 0)
        self._changes: dict[Span, list[Change]] = defaultdict(list)
        self._removed: set[ast.stmt] = set()
        self.before: dict[ast.stmt, list[str]] = defaultdict(list)
        self.after: dict[ast.stmt, list[str]] = defaultdict(list)
        self.comments: dict[ast.stmt, list[str]] = defaultdict(list)

    @property
    def any(self) -> bool:
        """True if there is anything to change."""
        return any((self._changes, self._removed, self.before, self.after, self.comments))

    def change(self, node: ast.AST, change: Change) -> None:
        """Replace a node by what a function returns for its text."""
        quotes = self._quotes_around(node)
        self._changes[self.span(node)].append(lambda old: _with_other_quotes(change(old), quotes))

    def remove(self, node: ast.stmt) -> None:
        """Remove a statement. If other statements share its line, replace it by ``pass``."""
        if self.has_lines(node):
            self._removed.add(node)
        else:
            self.change(node, lambda old: "pass")

    def add_after(self, node: ast.stmt, line: str) -> None:
        """Add a line after a statement. If other statements share its line, add it after ``;``."""
        if self.has_lines(node):
            self.after[node].append(line)
        else:
            self.change(node, lambda old: f"{old}; {line}")

    # --- the source

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        start, end = self.span(node)
        return self._text[start:end]

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement around a node that begins a line."""
        while not (isinstance(node, ast.stmt) and self._begins_line(node)):
            node = self._before_semicolon(node) or self._parents[node]
        return node

    def has_lines(self, node: ast.stmt) -> bool:
        """True if no other statement shares a line with a statement."""
        end = self.span(node)[1]
        rest = self._text[end : self._line(end)[1]].strip()
        return self.statement(node) is node and (not rest or rest.startswith("#"))

    def arguments(self, call: ast.Call) -> list[Span]:
        """Return where each argument of a call is, with its keyword and its parentheses."""
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        ends = [self.span(value)[1] for value in values]
        spans: list[Span] = []
        inside: list[Span] = []
        depth = 0
        first = self._text.index("(", self.span(call.func)[1]) + 1
        for text, start, end in self._tokens(first, self.span(call)[1] - 1):
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            is_comma = depth == 1 and text == "," and len(spans) < len(ends)
            if not depth or is_comma and start >= ends[len(spans)]:
                spans += [(inside[0][0], inside[-1][1])] if inside else []
                inside = []
            elif depth > 1 or text != "(":
                inside.append((start, end))
        return spans

    def _tokens(self, first: int, last: int) -> Iterator[tuple[str, int, int]]:
        """Yield each token in a part of the text and of brackets around it, and where it is."""
        part = f"({self._text[first:last]})"
        starts = _starts(part, first - 1)
        for token in tokenize.generate_tokens(io.StringIO(part, newline="").readline):
            if token.type not in _BLANK:
                start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
                yield token.string, start, end

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

    def _begins_line(self, node: ast.stmt) -> bool:
        start = self.span(node)[0]
        is_elif = isinstance(node, ast.If) and self._text.startswith("elif", start)
        line = self._line(start)[0]
        continues = self._text[:line].rstrip("\r\n").endswith("\\")
        return not is_elif and not continues and not self._text[line:start].strip()

    def _before_semicolon(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement before a statement, if ``;`` separates them."""
        if not isinstance(node, ast.stmt):
            return None
        block = self._block(node)
        previous = block[block.index(node) - 1] if node is not block[0] else None
        between = self._text[self.span(previous)[1] : self.span(node)[0]] if previous else ""
        return previous if ";" in between else None

    def is_in_text(self, node: ast.AST) -> bool:
        """True if a node is in an f-string. Python knows its exact place only since 3.12."""
        return self._text_around(node) is not None

    def _text_around(self, node: ast.AST) -> ast.JoinedStr | None:
        while node in self._parents and not isinstance(node, ast.JoinedStr):
            node = self._parents[node]
        return node if isinstance(node, ast.JoinedStr) else None

    def _quotes_around(self, node: ast.AST) -> str:
        """Return the quotes of the f-string that a node is in, which Python 3.11 reserves."""
        around = self._text_around(node)
        tokens = self._tokens(*self.span(around)) if around else ()
        place = self.span(node)[0]
        opened = [text for text, start, _ in tokens if start < place and _OPENS_TEXT.match(text)]
        return opened[-1][-1] if opened else ""

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

    def changed(self) -> list[str]:
        """Return the cells with all changes."""
        lines = self._lines()
        return [
            _joined(
                self._text,
                cell,
                {
                    **self._nodes(cell),
                    **{span: lines[span] for span in lines if _is_in(span, cell)},
                },
            )
            for cell in self._cells
        ]

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
            start, end = self._line(self.span(first)[0])[0], self._line(self.span(node)[1])[1]
            indent, newline = _indentation(self._text[start:end]), self._newline(end)
            above = [*self._missing(node, start), *self.before.get(node, ())]
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
        first, last = next(cell for cell in self._cells if cell[0] <= start <= cell[1])
        above = self._text[first:start].rstrip()
        if above:
            return first + len(above), end
        return start, min(end + len(self._newline(end)), last)


def _starts(text: str, first: int) -> list[int]:
    """Return the offset of each line, and of the end."""
    starts = [first]
    for line in io.StringIO(text, newline=""):
        starts.append(starts[-1] + len(line))
    return starts


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_in(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _with_other_quotes(text: str, quotes: str) -> str:
    """Return the text with the other kind of quotes, unless it contains them."""
    other = {'"': "'", "'": '"'}.get(quotes, "")
    return text if not quotes or other in text else text.replace(quotes, other)


def _joined(whole: str, span: Span, parts: Mapping[Span, str]) -> str:
    """Return a part of a text with its replacements. Ignore replacements inside of others."""
    text, at = "", span[0]
    for start, end in sorted(parts, key=lambda part: (part[0], part[0] < part[1], -part[1])):
        if start >= at:
            text += whole[at:start] + parts[start, end]
            at = end
    return text + whole[at : span[1]]
