"""Paths of files, folders and notebooks → their Python source, parsed.

Scripts of 2019 have ``FLAGS.async`` from argparse's ``--async``; since Python 3.7 that is a
syntax error.
"""

from __future__ import annotations

import ast
import io
import json
import json.scanner
import os
import re
import stat
import tokenize
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import decode_source
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Iterable, Iterator

_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages"})
ENDINGS = (".py", ".pyw", ".ipynb")
#: Cell magics whose cell is Python of the notebook, or of a file that it writes.
_PYTHON = re.compile(r"%%(?:(?:time|timeit|capture|prun|python3?)\b|writefile\s.*\.py\s*$)")
#: Cell magics of IPython whose cell is another language, or a file that is no Python.
_OTHER_LANGUAGES = frozenset(
    ("bash", "cmd", "html", "HTML", "javascript", "js", "latex", "markdown", "perl", "pypy")
    + ("python2", "ruby", "script", "sh", "svg", "SVG", "system", "sx", "writefile", "file")
)
#: Line magics that run the statement behind them, with their options.
_RUNNING = re.compile(
    r"^(\s*(?:\w+\s*=\s*)?)%(?:time|timeit|prun|memit)\s+(?:-\w+\s+(?:\d+\s+)?)*(?=[^-\s])"
)
#: Magics, shell commands and help. ``% x`` and ``!= x`` continue an expression.
_MAGIC = re.compile(r"(\s*)(?:%+[A-Za-z_].*|!(?!=).*|\?.*|[\w.]+\?{1,2}\s*|\w+\s*=\s*[%!].*)$")
#: A comment that hides uses: ids in brackets, or the end of the comment.
_IGNORE = re.compile(r"#\s*tritonshim:\s*ignore\s*(?:\[([^\]]+)\]|$|#)")
#: The first letter is a full-width "a". Python looks for keywords in the source as it is written
#: and normalises identifiers only then (PEP 3131): this is an identifier, and it reads "async".
_ASYNC = "\uff41sync"
_STATEMENTS = frozenset({"def", "for", "with"})
#: The line above each cell in the source of a notebook.
CELL = "# tritonclient-shim: cell"


class Unreadable(Exception):
    """The file is missing or cannot be parsed."""


@dataclass(frozen=True)
class ParsedSource:
    """A file, or all code cells of a notebook as one: its tree, and where each line comes from."""

    path: str
    tree: ast.Module
    lines: tuple[str, ...]  # of the parsed source
    async_names: tuple[tuple[int, int], ...]  # line and column of each, from 1
    places: tuple[tuple[int, int], ...] = ()  # a notebook's cell and line for each line, from 1
    file_lines: tuple[int, ...] = ()  # the line of a notebook's JSON for each line, from 1
    broken: tuple[str, ...] = ()  # the cells that cannot be parsed, each with the reason
    cells: tuple[str, ...] = ()  # the texts of a notebook's code cells

    def place(self, line: int) -> str:
        """Return the name of a line for messages."""
        if not self.places:
            return f"line {line}"
        cell, line_of_cell = self.places[line - 1]
        return f"cell {cell}, line {line_of_cell}"

    def shown(self) -> set[ast.Expr]:
        """Return the expressions at the ends of cells, whose values a notebook shows."""
        body = self.tree.body if self.places else []
        last = {self.places[part.lineno - 1][0]: part for part in body}
        return {part for part in last.values() if isinstance(part, ast.Expr)}


def characters(line: str, offset: int) -> int:
    """Return how many characters are before an offset of a tree, which counts bytes of UTF-8."""
    return len(line.encode()[:offset].decode(errors="ignore"))


def is_ignored(line: str, id: str) -> bool:
    """True if a comment in a line hides uses with an id."""
    comment = _IGNORE.search(line.rstrip())
    if comment is None:
        return False
    return not comment[1] or id in re.findall(r"\w+", comment[1].upper())


def files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the given files, and the Python files and notebooks below given folders, sorted.

    Pipes and links to nowhere in folders are left out. Folders that cannot be listed follow. `read`
    refuses them.
    """
    for path in paths:
        errors: list[OSError] = []  # for a file, too: it is no folder
        for place, folders, names in os.walk(path, onerror=errors.append):
            folders[:] = sorted(x for x in folders if x not in _SKIPPED and not x.startswith("."))
            sources = (name for name in sorted(names) if name.endswith(ENDINGS))
            yield from filter(_is_file, (os.path.join(place, name) for name in sources))
        yield from (error.filename for error in errors)


def _is_file(path: str) -> bool:
    """True for a file, and for one that cannot be examined. `content` says why."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return not os.path.islink(path)


def read(path: str) -> ParsedSource:
    """Return the parsed file. Raise Unreadable if it is missing or cannot be parsed."""
    return parsed(path, content(path))


def content(path: str, may_be_pipe: bool = False) -> bytes:
    """Return the bytes of a file. Raise Unreadable if it cannot be read.

    ``may_be_pipe``: the user has named it. A pipe that nobody named may have no writer, ever.
    """
    try:
        if not may_be_pipe and not stat.S_ISREG(os.stat(path).st_mode):
            raise Unreadable(
                f"{path}: is no regular file; expected one that can be replaced; leave it out with "
                "--exclude"
            )
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error


def parsed(path: str, data: bytes) -> ParsedSource:
    """Return the parsed content of a file. Raise Unreadable if it cannot be parsed."""
    try:
        with not_too_deep(path):
            if path.endswith(".ipynb"):
                return _notebook(path, data)
            return _parsed(path, decode_source(data))
    except (SyntaxError, ValueError, LookupError) as error:  # the last: not an encoding of text
        raise Unreadable(f"{path}: {_reason(error)}") from error


@contextmanager
def not_too_deep(path: str) -> Iterator[None]:
    """Raise Unreadable for a file whose nesting is too deep for this Python's recursion limit."""
    try:
        yield
    except (RecursionError, MemoryError) as error:  # older parsers have no more memory then
        raise Unreadable(
            f"{path}: it is nested too deeply to be read; expected what Python's recursion limit "
            "allows; leave it out with --exclude"
        ) from error


def _reason(error: Exception) -> str:
    if not isinstance(error, SyntaxError) or not error.lineno:
        return str(error)
    return f"line {error.lineno}: {error.msg}; expected Python 3"


def _parsed(path: str, text: str, **more: Any) -> ParsedSource:
    source, async_names = rewritten(text)
    lines = tuple(source.split("\n"))
    return ParsedSource(path, ast.parse(source, path), lines, tuple(async_names), **more)


class PlacedText(str):
    """A text of a JSON document, and where it is: after its first quote, and after its last."""

    offset: int
    end: int


def json_with_places(text: str) -> Any:
    """Return the content of a JSON document, each text with its place."""

    def placed(document: str, start: int, strict: bool = True) -> tuple[PlacedText, int]:
        value, end = scanstring(document, start, strict)
        result = PlacedText(value)
        result.offset = start
        result.end = end
        return result, end

    decoder: Any = json.JSONDecoder()
    decoder.parse_string = placed
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder.decode(text)


def _notebook(path: str, data: bytes) -> ParsedSource:
    """Return the code cells of a notebook as one source. A cell that cannot be parsed is empty."""
    document = data.decode("utf-8")
    starts = [0, *(match.end() for match in re.finditer("\n", document))]
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    file_lines: list[int] = []
    broken: list[str] = []
    try:
        cells = enumerate(json_with_places(document)["cells"], 1)
        code = [(n, texts_of(cell["source"])) for n, cell in cells if cell["cell_type"] == "code"]
    except (TypeError, LookupError) as error:
        raise ValueError("no notebook of format 4: expected cells with type and text") from error
    for number, texts in code:
        cell = "".join(texts)
        python = _python_of(cell)
        numbers = _file_lines(texts, starts, len(python))
        lines.append(CELL)
        places += ((number, line) for line in range(len(python) + 1))
        file_lines += [numbers[0], *numbers]
        try:
            magic = _unknown_magic(cell)
            if magic and not _is_python(python):
                raise ValueError(f"unknown magic {magic}; expected Python below it")
            # Python 3.9 takes the line of an error from the file of that name, which is JSON here
            _parsed(f"<{path}>", "\n".join(python) + "\n")
            lines += python
        except (SyntaxError, ValueError) as error:
            broken.append(f"{path}: cell {number}: {_reason(error)}")
            lines += [""] * len(python)
    text = "\n".join(lines) + "\n"
    return _parsed(
        path,
        text,
        places=tuple(places),
        file_lines=tuple(file_lines),
        broken=tuple(broken),
        cells=tuple("".join(texts) for _, texts in code),
    )


def _file_lines(texts: Iterable[PlacedText], starts: list[int], size: int) -> list[int]:
    """Return the line of the file for each line of a cell.

    ``starts``: the offsets of the file's lines. ``size``: the number of the cell's lines.
    """
    numbers: list[int] = []
    begins_line = True
    for text in texts:
        for piece in text.splitlines(keepends=True):
            if begins_line:
                numbers.append(bisect_right(starts, text.offset))
            begins_line = piece.splitlines()[0] != piece
    last = numbers[-1:] or [1]  # an empty cell has an empty line
    return [*numbers, *last * size][:size]


def texts_of(source: Any) -> list[PlacedText]:
    """Return the texts of a cell: a list of lines, or one text."""
    texts: list[Any] = [source] if isinstance(source, str) else list(source)
    "".join(texts)  # raises TypeError for anything else
    return texts


def _unknown_magic(cell: str) -> str:
    """Return the magic of a cell that may be Python or another language; '' for all others."""
    first = cell.partition("\n")[0]
    name = re.match(r"%%(\w*)", first)
    if name is None or _PYTHON.match(first) or name[1] in _OTHER_LANGUAGES:
        return ""
    return name[0]


def _is_python(lines: list[str]) -> bool:
    """True if lines are Python."""
    try:
        _parsed("", "\n".join(lines) + "\n")
    except (SyntaxError, ValueError):
        return False
    return True


def _python_of(cell: str) -> list[str]:
    """Return a cell's lines as Python: ``pass`` for IPython's, empty for another language's."""
    lines = cell.splitlines() or [""]
    is_python = not lines[0].startswith("%%") or bool(_PYTHON.match(lines[0]))
    if not is_python and not _unknown_magic(cell):
        return [""] * len(lines)
    python: list[str] = []
    continued = False  # a magic goes on in the next line
    for line in lines:
        kept = _RUNNING.sub(r"\1", line)
        magic = None if continued else _MAGIC.match(kept)
        python.append("" if continued else f"{magic[1]}pass" if magic else kept)
        continued = (continued or bool(magic)) and line.rstrip().endswith("\\")
    return python


def rewritten(source: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the source with ``async`` as a name where it is no keyword, and each changed place.

    A place is a line and a column, from 1. Every line and column stays where it is. Source that
    cannot be split into tokens is returned unchanged.
    """
    if "async" not in source:
        return source, []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source, []
    tokens = [x for x in tokens if x.type not in (tokenize.COMMENT, tokenize.NL)]
    texts = [token.string for token in tokens]
    places = [
        token.start
        for before, token, after in zip(["", *texts], tokens, texts[1:])
        if token.string == "async" and (before == "." or after not in _STATEMENTS)
    ]
    lines = io.StringIO(source).readlines()  # a form feed ends no line of Python
    for row, column in reversed(places):
        text = lines[row - 1]
        lines[row - 1] = text[:column] + _ASYNC + text[column + len("async") :]
    return "".join(lines), [(row, column + 1) for row, column in places]


def restored(text: str) -> str:
    """Return the text of a rewritten source as its author wrote it."""
    return text.replace(_ASYNC, "async")
