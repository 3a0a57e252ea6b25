"""Notebooks: their code cells as one text that rules rewrite, and the way back into the file.

Only cells that change are written. All other bytes of the file stay.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Iterator, Mapping, NamedTuple

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.imports import is_of_v1
from tritonclient_shim.scan.sources import (
    CELL,
    ParsedSource,
    json_with_places,
    restored,
    texts_of,
)
from tritonclient_shim.scan.values import BoundMethod, Instance, LocalClass, Value, element

#: The comment behind a line of Python that stands for a line with a magic.
_MARK = "  # tritonclient-shim: line {}"
_MARKED = re.compile(r"(.*)  # tritonclient-shim: line (\d+)$")
#: Cell magics whose cell runs in the notebook; nothing for a cell without magic.
_RUN_HERE = re.compile(r"%%(?:time|timeit|capture|prun)\b|(?!%%)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class _Magic(NamedTuple):
    """A line with a magic: its number in the source, its text, and the Python in its place."""

    line: int
    text: str
    python: str

    def with_python(self, new: str) -> str | None:
        """Return the text with other Python behind its magic; None if that is not certain."""
        if new == self.python:
            return self.text
        if self.python.strip() in ("", "pass") or not _is_statement(new):
            return None
        rest = self.python
        while not self.text.endswith(rest):  # without what is before the magic
            rest = rest[1:]
        start = self.python[: len(self.python) - len(rest)]
        before = self.text[: len(self.text) - len(rest)]
        return f"{before}{new[len(start) :]}" if new.startswith(start) else None


def is_notebook(source: ParsedSource) -> bool:
    """True for the source of a notebook, whose cells are one text."""
    return source.path.endswith(".ipynb")


def text_of(source: ParsedSource) -> str:
    """Return the text that rules rewrite: the source, with a comment behind each magic."""
    lines = list(source.lines)
    for magic in _magics(source):
        lines[magic.line - 1] += _MARK.format(magic.line)
    return "\n".join(lines)


def reason_to_stay(facts: FileFacts) -> str:
    """Return why a notebook stays as it is; '' if rules decide."""
    source = facts.source
    if source.broken:
        cell = source.broken[0].partition(": ")[2]
        return f"repair {cell}; its code may use what other cells have"
    if not any(isinstance(part, (ast.Import, ast.ImportFrom)) for part in source.tree.body):
        return "import v1 in a cell, outside of functions and blocks"
    lines_of_cells = [[row.rstrip("\n") for row in _LINE.findall(cell)] for cell in source.cells]
    if lines_of_cells != [cell.splitlines() for cell in source.cells]:
        return "end all lines of the cells with \\n"
    numbers = sorted({cell for cell, _ in source.places})
    for site in facts.sites:
        number = source.places[site.node.lineno - 1][0]
        if not _RUN_HERE.match(source.cells[numbers.index(number)]):
            return f"cell {number} does not run in the notebook; migrate its code on its own"
    for magic in _magics(source):
        if magic.python.strip() and not _is_statement(magic.python):
            return f"write the statement of {source.place(magic.line)} into one line"
    for shown in source.shown():
        if _shows_v1(shown.value, facts):
            return f"print a text of your own in {source.place(shown.lineno)}: it shows v1's object"
    return ""


def _shows_v1(node: ast.expr, facts: FileFacts) -> bool:
    """True if what a notebook shows may have an object or constant of v1."""
    values = facts.evaluator.of(node)
    while values:
        if any(map(_is_of_v1, values)):
            return True
        values = element(values)
    return False


def _is_of_v1(value: Value) -> bool:
    """True for an object, method, class, constant or module of v1.

    An object of the file may have one, and show it.
    """
    if isinstance(value, LocalClass):
        return value.is_object
    if isinstance(value, BoundMethod):
        return isinstance(value.owner, Instance) or any(map(_is_of_v1, value.owner.any))
    return isinstance(value, Instance) or is_of_v1(str(getattr(value, "name", "")))


def damage(source: ParsedSource, new: str) -> str:
    """Return why a new text does not fit into the cells; '' if it does."""
    for magic in _magics(source):
        own = [match for match in _marks(new) if int(match[2]) == magic.line]
        if len(own) != 1 or magic.with_python(own[0][1]) is None:
            return f"write the statement of {source.place(magic.line)} without a magic"
    return ""


def with_cells(source: ParsedSource, data: bytes, new: str) -> bytes:
    """Return the bytes of a notebook with the cells of a new text."""
    document = data.decode("utf-8")
    magics = {magic.line: magic for magic in _magics(source)}
    cells = [cell for cell in json_with_places(document)["cells"] if cell["cell_type"] == "code"]
    old_cells = _cells_of(restored(text_of(source)))
    new_cells = _cells_of(new)
    for cell, old_lines, lines in reversed([*zip(cells, old_cells, new_cells)]):
        if old_lines == lines:
            continue
        while lines and not lines[-1] and old_lines[-1]:
            lines.pop()
        text = "\n".join(_restored(line, magics) for line in lines)
        is_ended = "".join(texts_of(cell["source"])).endswith("\n")
        document = _with_text(document, cell["source"], text + "\n" * (is_ended and bool(text)))
    return document.encode("utf-8")


def _with_text(document: str, source: object, text: str) -> str:
    """Return a JSON document with another text of a cell, which is one text or a list of lines."""
    texts = texts_of(source)
    old = {str(part): document[part.offset - 1 : part.end] for part in texts}
    is_ascii = document.isascii()

    def encoded(part: str) -> str:
        return old.get(part) or json.dumps(part, ensure_ascii=is_ascii)

    start = texts[0].offset - 1
    end = texts[-1].end
    if isinstance(source, str):
        return document[:start] + encoded(text) + document[end:]
    opening = document.rindex("[", 0, start) + 1
    closing = document.index("]", end)
    comma = "," + (document[opening:start] or " ")
    if len(texts) > 1:
        comma = document[texts[0].end : texts[1].offset - 1]
    lines = comma.join(map(encoded, _LINE.findall(text)))
    if not lines:
        return document[:opening] + document[closing:]
    return document[:start] + lines + document[end:]


def _magics(source: ParsedSource) -> Iterator[_Magic]:
    """Yield the lines with magics in cells of Python."""
    if not source.cells:
        return
    line = 1
    for text, python_lines in zip(source.cells, _cells_of("\n".join(source.lines))):
        is_python = any(python_lines)
        for own, python in zip(text.splitlines(), map(restored, python_lines)):
            line += 1
            if is_python and own != python:
                yield _Magic(line, own, python)
        line += 1 + len(python_lines) - len(text.splitlines())


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines of a text that stand for lines with magics."""
    for line in text.split("\n"):
        match = _MARKED.match(line)
        if match:
            yield match


def _restored(line: str, magics: Mapping[int, _Magic]) -> str:
    """Return a line of a new text as the cell has it."""
    match = _MARKED.match(line)
    text = magics[int(match[2])].with_python(match[1]) if match else line
    assert text is not None  # `damage` says so
    return text


def _cells_of(text: str) -> list[list[str]]:
    """Return the lines of each code cell."""
    cells: list[list[str]] = []
    for line in text.rstrip("\n").split("\n"):
        if line == CELL:
            cells.append([])
        else:
            cells[-1].append(line)
    return cells


def _is_statement(line: str) -> bool:
    """True if a line is a whole statement."""
    try:
        ast.parse(line.strip())
    except SyntaxError:
        return False
    return True
