"""A file with edits, and its text. This is the only place that makes text of edits."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import defaultdict
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from tritonclient_shim.migrate.edits import (
    Above,
    AddName,
    Below,
    Comment,
    Define,
    Edit,
    Import,
    NewCall,
    NewText,
    Part,
    Remove,
    Replace,
    replaced,
)
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.format import COLUMNS, on_one_line, shifted
from tritonclient_shim.migrate.import_block import with_name
from tritonclient_shim.migrate.layout import Span
from tritonclient_shim.migrate.names import NewNames

#: A command in a comment, which the author copies.
_COMMAND = re.compile(r"tritonclient-shim \S+ \S+")
#: The names of helpers in a form, and ``old``.
_NAME = re.compile(r"{([A-Za-z]\w*)}")
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
    text = head
    column = len(head)
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


def _joined_call(function: str, opening: str, arguments: Sequence[_Argument]) -> str | None:
    """Return a call on one line; None if it has comments."""
    if any("#" in text for text in (opening, *(argument.behind for argument in arguments))):
        return None
    return on_one_line(f"{function}({', '.join(argument.text for argument in arguments)})")


class Document:
    """A file with edits. The edits are applied together, and all other text stays."""

    def __init__(self, facts: FileFacts, names: NewNames, edits: Iterable[Edit]) -> None:
        self.names = names
        self.edits = tuple(edits)
        self._facts = facts
        self._layout = facts.layout
        self._changes: dict[Span, list[Replace | AddName]] = defaultdict(list)
        self._above: dict[ast.stmt, list[str | NewText]] = defaultdict(list)
        self._below: dict[ast.stmt, list[str | NewText]] = defaultdict(list)
        self._removed: set[ast.stmt] = set()
        for edit in self.edits:
            self._add(edit)

    def with_edits(self, edits: Iterable[Edit]) -> Document:
        """Return the document with more edits, which follow its own."""
        return Document(self._facts, self.names, (*self.edits, *edits))

    def _add(self, edit: Edit) -> None:
        if isinstance(edit, Replace):
            self._changes[self._layout.span(edit.node)].append(edit)
        elif isinstance(edit, AddName):
            self._changes[self._layout.span(edit.statement)].append(edit)
        elif isinstance(edit, Above):
            self._above[edit.statement].append(edit.text)
        elif isinstance(edit, Below):
            self._below[edit.statement].append(edit.text)
        elif isinstance(edit, Comment):
            self._add_comment(edit)
        elif isinstance(edit, Remove):
            self._remove(edit.statement)

    def _remove(self, node: ast.stmt) -> None:
        gone = {node, *self._removed}
        block = self._layout.block(node)
        left = (
            part not in gone or self._above.get(part) or self._below.get(part) for part in block
        )
        if self._layout.has_lines(node) and (self._layout.is_of_module(node) or any(left)):
            self._removed.add(node)
        else:
            self._add(replaced(node, "pass"))

    def _add_comment(self, edit: Comment) -> None:
        row = self._layout.rows[self._layout.first_row(edit.statement)]
        width = COLUMNS - (len(row) - len(row.lstrip()))
        text = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), edit.text)
        wrapper = textwrap.TextWrapper(
            width, subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
        )
        lines = [line.replace("\0", " ") for line in wrapper.wrap(text)]
        if lines[0] not in self._layout.comments_above(edit.statement):
            self._above[edit.statement].insert(0, "\n".join(lines))

    # --- what the edits need

    @property
    def helpers(self) -> frozenset[str]:
        """Return the functions and constants of the helpers that edits name."""
        names = (_NAME.findall(text.form) for text in self._texts())
        return frozenset(name for own in names for name in own) - {"old"}

    @property
    def imports(self) -> dict[str, str]:
        """Return the imports that edits name, by the names that they bind."""
        lines = dict.fromkeys(
            part.line for text in self._texts() for part in text.parts if isinstance(part, Import)
        )
        return {self.names.of_import(line): self.names.import_line(line) for line in lines}

    @property
    def definitions(self) -> list[str]:
        """Return the assignments that the module gets."""
        texts = {edit.name: edit.text for edit in self.edits if isinstance(edit, Define)}
        return [self._text(text) for text in texts.values()]

    @property
    def read(self) -> frozenset[str]:
        """Return the names that the new text and its definitions read."""
        text = "\n".join((self.text(), *self.definitions))
        names = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
        return frozenset(node.id for node in names if not isinstance(node.ctx, ast.Store))

    def _texts(self) -> Iterator[NewText]:
        """Yield all texts of the edits, and the texts in them."""
        for edit in self.edits:
            if isinstance(edit, (Replace, Above, Below, Define)) and not isinstance(edit.text, str):
                yield from _texts_in(edit.text)

    # --- the text

    def text(self) -> str:
        """Return the text with all edits."""
        return self._rendered(self._layout.whole, self._lines())

    def new(self, node: ast.AST) -> str:
        """Return the text of a node with all edits."""
        return self._rendered(self._layout.span(node), {})

    def _rendered(self, whole: Span, parts: Mapping[Span, str], but: Span | None = None) -> str:
        """Return a part of the text with the changes of its nodes, but not those of one span.

        ``parts``: other changes. Changes inside of a changed part are ignored.
        """
        old_text = self._layout.full_text
        texts = dict(parts)
        for span, changes in self._changes.items():
            if whole[0] <= span[0] and span[1] <= whole[1] and span != but:
                texts[span] = self._rendered(span, {}, but=span)
                for change in changes:
                    texts[span] = self._changed(change, texts[span])
        text = ""
        at = whole[0]
        for start, end in sorted(texts, key=lambda part: (part[0], part[0] < part[1], -part[1])):
            if start >= at:
                text += old_text[at:start] + texts[start, end]
                at = end
        return text + old_text[at : whole[1]]

    def _changed(self, change: Replace | AddName, old: str) -> str:
        """Return what replaces the text of a node."""
        if isinstance(change, AddName):
            return with_name(old, change.name)
        if isinstance(change.text, NewCall):
            return self._call(change.text)
        return self._text(change.text, change.node, old)

    def _text(self, text: NewText, node: ast.AST | None = None, old: str = "") -> str:
        """Return a text with its parts. ``node``: what it replaces, whose text is the old one."""
        form = text.form
        parts = []
        for number, part in enumerate(text.parts):
            is_argument = re.search(rf"(\(|, |= ?|^)\{{{number}\}}(\)|,|$)", form)
            parts.append(self._part(part, is_primary=not is_argument))
        names = {name: self.names.of_helper(name) for name in _NAME.findall(form) if name != "old"}
        if node is None:
            return form.format(*parts, **names)
        if "{old}." in form and not _is_primary(node):
            old = f"({old})"
        head = form.partition("{old}")[0].format(*parts, **names)
        old = shifted(old, self._layout.column(self._layout.span(node)[0]), len(head))
        return form.format(*parts, old=old, **names)

    def _part(self, part: Part, is_primary: bool = False) -> str:
        """Return the text of a part, in brackets if an attribute or operator could not follow."""
        if isinstance(part, str):
            return part
        if isinstance(part, Import):
            return self.names.of_import(part.line)
        if isinstance(part, NewText):
            return self._text(part)
        if isinstance(part, NewCall):
            return self._call(part)
        return f"({self.new(part)})" if is_primary and not _is_primary(part) else self.new(part)

    def _call(self, new: NewCall) -> str:
        """Return a call of another function."""
        call = new.call
        (_, opening, _), *arguments, (last, closing, last_column) = self._arguments(call)
        keywords = [keyword.arg or "" for keyword in call.keywords]
        parts = [*arguments, _Argument(last, ", ", last_column)]
        old = dict(zip([*new.names[: len(call.args)], *keywords], parts))
        texts = [_Argument(self._part(part), ", ") for part in new.before]
        for name in new.names:
            if name in old and name in new.kept:
                argument = old[name]
                if name in keywords:
                    argument = argument.value()
                texts.append(argument.named(new.kept[name]))
        texts += [_Argument(self._part(part), ", ") for part in new.after]
        texts[-1] = texts[-1]._replace(behind=closing)
        function = self._part(new.function, is_primary=True)
        joined = _joined_call(function, opening, texts) if new.on_one_line else None
        if joined is not None:
            return joined
        start = self._layout.column(self._layout.span(call)[0])
        text = "".join((function, opening, *(part.text + part.behind for part in texts), ")"))
        if "\n" not in text or "\n" in function + opening:
            return text
        head = f"{' ' * start}{function}{opening}"
        aligned = _aligned(head, texts, parts[0].column)[start:] + ")"
        is_short = all(len(row) <= COLUMNS for row in aligned.split("\n")[1:])
        return aligned if is_short else text

    def _arguments(self, call: ast.Call) -> list[_Argument]:
        """Return a call's function and each argument with all changes.

        The text behind an argument ends where the next argument, or its keyword, starts.
        """
        start, end = self._layout.span(call)
        text = self._layout.full_text[: end - 1]
        parts = []
        for node in (call.func, *call.args, *(keyword.value for keyword in call.keywords)):
            match = _BEHIND.match(text, self._layout.span(node)[1])
            assert match
            new = self._rendered((start, match.end(1)), {})
            parts.append(_Argument(new, match[2], self._layout.column(start)))
            start = match.end()
        return parts

    def _lines(self) -> dict[Span, str]:
        """Return the lines above, below and instead of statements."""
        rows = self._layout.rows
        starts = self._layout.starts
        lines: dict[Span, str] = defaultdict(str)
        for node in {**self._above, **self._below, **dict.fromkeys(self._removed)}:
            first = self._layout.first_row(node)
            start = starts[first]
            end = starts[node.end_lineno or 0]
            above = self._indented(first, self._above.get(node, ()))
            below = self._indented(first, map(self._joined, self._below.get(node, ())))
            lines[start, start] += above
            lines[end, end] = below + lines[end, end]
            if node in self._removed:
                leaves_gap = self._leaves_gap(node)
                while leaves_gap and first and not rows[first - 1].strip():
                    first -= 1
                lines[starts[first], end] = ""
        return lines

    def _leaves_gap(self, node: ast.stmt) -> bool:
        """True if empty rows follow a removed statement, and others removed with it."""
        rows = self._layout.rows
        followers = {self._layout.first_row(part): part for part in self._layout.block(node)}
        while node in self._removed and not self._above.get(node):
            below = self._below.get(node)
            if below:
                return self._joined(below[0])[:1] in ("", "\n")
            next_row = node.end_lineno or 0
            if next_row >= len(rows) or not rows[next_row].strip():
                return True
            if next_row not in followers:
                return False
            node = followers[next_row]
        return False

    def _joined(self, text: str | NewText) -> str:
        """Return lines, or a new statement on one line."""
        if isinstance(text, str):
            return text
        new = self._text(text)
        return on_one_line(new) or new

    def _indented(self, row: int, texts: Iterable[str | NewText]) -> str:
        """Return lines with the indentation and line break of a row."""
        old = self._layout.rows[row]
        indent = old[: len(old) - len(old.lstrip())]
        newline = old[len(old.rstrip("\r\n")) :]
        lines = (text if isinstance(text, str) else self._text(text) for text in texts)
        return "".join(f"{indent}{x}{newline}" for text in lines for x in text.split("\n"))


def _texts_in(part: Part) -> Iterator[NewText]:
    """Yield a text, and the texts that are parts of it."""
    if isinstance(part, NewCall):
        part = NewText("", (part.function, *part.before, *part.after))
    if isinstance(part, NewText):
        yield part
        for inner in part.parts:
            yield from _texts_in(inner)


def _is_primary(node: ast.AST) -> bool:
    """True for an expression that an attribute or operator can follow."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text or isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
