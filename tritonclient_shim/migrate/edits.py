"""Changes of a source: collected first, then applied together. All other text stays."""

from __future__ import annotations

import ast
import io
import re
import textwrap
from collections import defaultdict
from itertools import accumulate, takewhile
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence, Tuple

from tritonclient_shim.migrate.format import COLUMNS, shifted
from tritonclient_shim.scan.sources import characters

Span = Tuple[int, int]  # offsets in the text
#: Text of a node, with the changes inside it → its new text.
Change = Callable[[str], str]
#: What follows the function or an argument of a call: its brackets, a comma, comments.
_BEHIND = re.compile(r"((?:\s*\))*)((?:\s|#.*|\\\n)*[(,]?(?:\s|#.*|\\\n)*)")


class _Argument(NamedTuple):
    """An argument of a call, the text behind it, and where it started; -1 for a new one."""

    text: str
    behind: str
    column: int = -1

    def value(self) -> _Argument:
        """Return the value of an argument with a name."""
        value = self.text.partition("=")[2].lstrip()
        return _Argument(value, self.behind, self.column + len(self.text) - len(value))

    def named(self, name: str) -> _Argument:
        """Return the argument with a name, '' for none."""
        if not name:
            return self
        return _Argument(f"{name}={self.text}", self.behind, self.column - len(name) - 1)


def _aligned(head: str, arguments: Sequence[_Argument], first: int) -> str:
    """Return a call whose lines are aligned with its arguments, as they were before.

    ``head``: the call to its bracket, in its column. ``first``: the column of the first argument.
    """
    text, column = head, len(head)
    for argument in arguments:
        start = len(text) - text.rfind("\n") - 1
        if argument.column < 0:
            text += argument.text
        else:
            text += shifted(argument.text, argument.column, start - argument.column)
        before, newline, indent = argument.behind.rpartition("\n")
        is_aligned = newline and not indent.strip() and len(indent) == first
        text += f"{before}\n{' ' * column}" if is_aligned else argument.behind
    return text


class Edits:
    """Planned changes: of nodes, and lines before and after statements."""

    def __init__(self, text: str, parents: Mapping[ast.AST, ast.AST]) -> None:
        self._parents, self._whole = parents, (0, len(text))
        self._text = text if text.endswith("\n") else f"{text}\n"
        self._rows = io.StringIO(self._text, newline="").readlines()
        self._starts = [0, *accumulate(map(len, self._rows))]
        self._changes: dict[Span, list[Change]] = defaultdict(list)
        self._removed: set[ast.stmt] = set()
        self.before: dict[ast.stmt, list[str | Callable[[], str]]] = defaultdict(list)
        self.after: dict[ast.stmt, list[str]] = defaultdict(list)

    def change(self, node: ast.AST, change: Change) -> None:
        """Replace a node by what a function returns for its text."""
        self._changes[self.span(node)].append(change)

    def remove(self, node: ast.stmt) -> None:
        """Remove a statement. Replace it by ``pass`` in a line or block that needs another."""
        parent = self._parents[node]
        block = next(x for x in vars(parent).values() if isinstance(x, list) and node in x)
        gone = {node, *self._removed}
        left = (part not in gone or self.before[part] or self.after[part] for part in block)
        if self.has_lines(node) and (isinstance(parent, ast.Module) or any(left)):
            self._removed.add(node)
        else:
            self.change(node, lambda old: "pass")

    def comment(self, node: ast.stmt, text: str) -> None:
        """Add a comment above a statement and its other comments, unless it has the comment."""
        first = self._first_row(node)
        above = reversed(self._rows[:first])
        present = takewhile(lambda row: row.strip()[:1] in ("", "#"), above)
        row = self._rows[first]
        width = COLUMNS - (len(row) - len(row.lstrip()))
        lines = textwrap.wrap(text, width, subsequent_indent="#   ", break_long_words=False)
        if lines[0] not in map(str.strip, present):
            self.before[node].insert(0, "\n".join(lines))

    # --- the source

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        return self._text[slice(*self.span(node))]

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

    def blank_rows(self, node: ast.stmt) -> int:
        """Return how many empty lines follow a statement; many at the end of the text."""
        below = self._rows[node.end_lineno or 0 :]
        if not any(map(str.strip, below)):
            return len(self._rows)
        return len(list(takewhile(lambda row: not row.strip(), below)))

    def call_text(
        self,
        call: ast.Call,
        function: str,
        names: tuple[str, ...],
        before: Sequence[str],
        kept: Mapping[str, str],
        after: Sequence[str],
    ) -> str:
        """Return a call of another function, with the arguments of the kept parameters.

        At least one argument is kept. The format between arguments stays. ``kept``: parameter → its
        new name, '' for an argument by position.
        """
        (_, opening, _), *arguments, (last, closing, last_column) = self._parts(call)
        keywords = [keyword.arg or "" for keyword in call.keywords]
        parts = [*arguments, _Argument(last, ", ", last_column)]
        old = dict(zip([*names[: len(call.args)], *keywords], parts))
        new = [_Argument(text, ", ") for text in before]
        for name in names:
            if name in old and name in kept:
                argument = old[name]
                if name in keywords:
                    argument = argument.value()
                new.append(argument.named(kept[name]))
        new += [_Argument(text, ", ") for text in after]
        new[-1] = new[-1]._replace(behind=closing)
        start = self.column(self.span(call)[0])
        text = "".join((function, opening, *(part.text + part.behind for part in new), ")"))
        if "\n" not in text or "\n" in function + opening:
            return text
        aligned = _aligned(f"{' ' * start}{function}{opening}", new, parts[0].column)[start:] + ")"
        is_short = all(len(row) <= COLUMNS for row in aligned.split("\n")[1:])
        return aligned if is_short else text

    def _parts(self, call: ast.Call) -> list[_Argument]:
        """Return a call's function and each argument with all changes.

        The text behind an argument ends where the next argument, or its keyword, starts.
        """
        start, end = self.span(call)
        text, parts = self._text[: end - 1], []
        for node in (call.func, *call.args, *(keyword.value for keyword in call.keywords)):
            match = _BEHIND.match(text, self.span(node)[1])
            assert match
            new = self._rendered((start, match.end(1)), {})
            parts.append(_Argument(new, match[2], self.column(start)))
            start = match.end()
        return parts

    def column(self, offset: int) -> int:
        """Return the column of an offset, from 0."""
        return offset - self._text.rfind("\n", 0, offset) - 1

    def span(self, node: Any) -> Span:
        """Return where a node is in the text."""
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a column, which counts bytes of UTF-8."""
        start = self._starts[line - 1]
        return start + characters(self._text[start : self._starts[line]], column)

    # --- the result

    def new(self, node: ast.AST) -> str:
        """Return the text of a node with all changes."""
        return self._rendered(self.span(node), {})

    def changed(self) -> str:
        """Return the text with all changes."""
        return self._rendered(self._whole, self._lines())

    def _rendered(self, whole: Span, parts: Mapping[Span, str], but: Span | None = None) -> str:
        """Return a part of the text with the changes of its nodes, but not those of one span.

        ``parts``: other changes. Changes inside of a changed part are ignored.
        """
        texts = dict(parts)
        for span, changes in self._changes.items():
            if whole[0] <= span[0] and span[1] <= whole[1] and span != but:
                texts[span] = self._rendered(span, {}, but=span)
                for change in changes:
                    texts[span] = change(texts[span])
        text, at = "", whole[0]
        for start, end in sorted(texts, key=lambda part: (part[0], part[0] < part[1], -part[1])):
            if start >= at:
                text += self._text[at:start] + texts[start, end]
                at = end
        return text + self._text[at : whole[1]]

    def _lines(self) -> dict[Span, str]:
        """Return the lines before, after and instead of statements."""
        lines: dict[Span, str] = defaultdict(str)
        for node in {**self.before, **self.after, **dict.fromkeys(self._removed)}:
            first = self._first_row(node)
            start, end = self._starts[first], self._starts[node.end_lineno or 0]
            above = self._indented(first, self.before.get(node, ()))
            below = self._indented(first, self.after.get(node, ()))
            lines[start, start] += above
            lines[end, end] = below + lines[end, end]
            if node in self._removed:
                while not above + below and first and not self._rows[first - 1].strip():
                    first -= 1
                lines[self._starts[first], end] = ""
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
