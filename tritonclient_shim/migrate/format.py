"""The format of what is written: lines of at most 100 columns, and the quotes of the file."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from functools import lru_cache
from typing import Iterator, List, NamedTuple

#: The columns that a line of a migrated file may have.
COLUMNS = 100
_INDENT = "    "
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_STARTS = ("FSTRING_START", "TSTRING_START")
_ENDS = ("FSTRING_END", "TSTRING_END")
#: A text without quotes and escapes inside, an ``f`` before it, and no quote beside it.
_SIMPLE = r"(?<![\w\"'])([bf]?){0}([^\"'\\\n]*){0}(?![\"'])"
_QUOTED = {quote: re.compile(_SIMPLE.format(quote)) for quote in "\"'"}


class Token(NamedTuple):
    """A token of a line, or an f-string."""

    text: str
    start: int
    end: int


_Tokens = List[Token]


# ---------------------------------------------------------------------------------------- quotes


@lru_cache(maxsize=64)
def quote_of(text: str) -> str:
    """Return the quote that most texts of a source have."""
    single, double = (len(_QUOTED[quote].findall(text)) for quote in ("'", '"'))
    return "'" if single > double else '"'


@lru_cache(maxsize=256)
def with_quotes(text: str, quote: str) -> str:
    """Return a source in which simple texts have this quote. Docstrings and comments stay.

    Texts inside f-strings stay too: before Python 3.12 they need the other quote.
    """
    simple = _QUOTED["'" if quote == '"' else '"']
    rows = text.split("\n")
    for kind, _, (row, start), (last_row, end) in reversed([*_whole_tokens(text)]):
        if kind != tokenize.STRING or row != last_row:
            continue
        line = rows[row - 1]
        literal = simple.fullmatch(line[start:end])
        if literal:
            rows[row - 1] = f"{line[:start]}{literal[1]}{quote}{literal[2]}{quote}{line[end:]}"
    return "\n".join(rows)


# ----------------------------------------------------------------------------------------- lines


def with_short_lines(text: str, before: str) -> str:
    """Return a source whose new lines have at most 100 columns, where brackets allow it.

    ``before``: the source with the lines that stay as they are.
    """
    rows = io.StringIO(text, newline="").readlines()
    old = set(io.StringIO(before, newline="").readlines())
    new = {number for number, row in enumerate(rows) if _is_long(row) and row not in old}
    if not new:
        return text
    tokens = _tokens_of_rows(text)
    for number in new & tokens.keys():
        row = rows[number]
        below = rows[number + 1] if number + 1 < len(rows) else ""
        end = row[len(row.rstrip("\r\n")) :]
        lines = _Row(row.rstrip("\r\n"), _indent(below)).broken(tokens[number])
        rows[number] = "".join(f"{line}{end}" for line in lines)
    result = "".join(rows)
    # only layout may have changed
    return result if ast.dump(ast.parse(result)) == ast.dump(ast.parse(text)) else text


def _is_long(row: str) -> bool:
    return len(row.rstrip("\r\n")) > COLUMNS


def _indent(row: str) -> str:
    return row[: len(row) - len(row.lstrip(" \t"))]


def _tokens_of_rows(text: str) -> dict[int, _Tokens]:
    """Return the tokens of each row, but of rows with comments, or parts of longer tokens."""
    rows: dict[int, _Tokens] = defaultdict(list)
    other: set[int] = set()
    for kind, part, (row, start), (last_row, end) in _whole_tokens(text):
        if kind == tokenize.COMMENT or row != last_row:
            other.update(range(row - 1, last_row))
        elif part.strip():
            rows[row - 1].append(Token(part, start, end))
    lines = text.split("\n")
    other.update(number for number, line in enumerate(lines) if line.rstrip().endswith("\\"))
    return {number: tokens for number, tokens in rows.items() if number not in other}


def _whole_tokens(text: str) -> Iterator[tuple[int, str, tuple[int, int], tuple[int, int]]]:
    """Yield kind, text, start and end of tokens. An f-string is one token."""
    depth = 0
    start = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name in _STARTS:
            start = start if depth else token.start
            depth += 1
        elif name in _ENDS:
            depth -= 1
            if not depth:
                yield tokenize.STRING, "f''", start, token.end
        elif not depth:
            yield token.type, token.string, token.start, token.end


class _Row:
    """A row of a source that is too long."""

    def __init__(self, text: str, indent_below: str) -> None:
        self._text, self._indent_below = text, indent_below

    def broken(self, tokens: _Tokens) -> list[str]:
        """Return the lines that replace the row."""
        indent = _indent(self._text)
        level = _depth_after(tokens)
        is_inside = level < 0 or tokens[-1].text == ","  # of brackets that other rows open
        if level <= 0 and not is_inside:
            return self._lines(tokens, indent)
        commas = [depth for token, depth in _depths(tokens) if token.text == ","]
        first, *pieces = _split(tokens, level if level > 0 else min([0, *commas]))
        lines = self._lines(first, indent)
        indent = self._indent_below if level > 0 else indent
        for piece in pieces:
            if len(lines[-1]) + 1 + len(self._of(piece)) <= COLUMNS:
                lines[-1] += f" {self._of(piece)}"
            else:
                lines += self._lines(piece, indent)
        return lines

    def _lines(self, tokens: _Tokens, indent: str) -> list[str]:
        """Return the lines of some tokens: one line, or the contents of brackets on their own."""
        line = indent + self._of(tokens)
        pair = _widest_pair(tokens)
        if len(line) <= COLUMNS or pair is None:
            return [line]
        opening, closing = pair
        head = indent + self._of(tokens[: opening + 1])
        inner = tokens[opening + 1 : closing]
        rest = self._lines(tokens[closing:], indent)
        deeper = indent + _INDENT
        if len(deeper + self._of(inner)) <= COLUMNS:
            return [head, deeper + self._of(inner), *rest]
        pieces = _split(inner, 0)
        lines = [line for piece in pieces for line in self._lines(piece, deeper)]
        if inner[-1].text != "," and _takes_comma(tokens, opening, pieces):
            lines[-1] += ","
        return [head, *lines, *rest]

    def _of(self, tokens: _Tokens) -> str:
        return self._text[tokens[0].start : tokens[-1].end]


def _depths(tokens: _Tokens) -> Iterator[tuple[Token, int]]:
    """Yield each token with the number of brackets around it; negative behind closing ones."""
    depth = 0
    for token in tokens:
        depth -= token.text in _PAIRS.values()
        yield token, depth
        depth += token.text in _PAIRS


def _depth_after(tokens: _Tokens) -> int:
    opened = sum(token.text in _PAIRS for token in tokens)
    return opened - sum(token.text in _PAIRS.values() for token in tokens)


def _split(tokens: _Tokens, level: int) -> list[_Tokens]:
    """Split tokens behind the commas that a number of brackets are around.

    The commas of ``for a, b in pairs`` separate no elements.
    """
    pieces: list[_Tokens] = [[]]
    is_target = False
    for token, depth in _depths(tokens):
        pieces[-1].append(token)
        if depth == level and token.text in ("for", "in"):
            is_target = token.text == "for"
        if token.text == "," and depth == level and not is_target:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _widest_pair(tokens: _Tokens) -> tuple[int, int] | None:
    """Return where the widest of the outer pairs of brackets opens and closes; None for none.

    Brackets that open or close on other rows are no pairs.
    """
    after = _depth_after(tokens)
    level = after if after > 0 else min(depth for _, depth in _depths(tokens))
    pairs = []
    opening = None
    for number, (token, depth) in enumerate(_depths(tokens)):
        if token.text in _PAIRS and depth == level:
            opening = number
        elif token.text in _PAIRS.values() and depth == level and opening is not None:
            if number > opening + 1:
                pairs.append((opening, number))
            opening = None

    def width(pair: tuple[int, int]) -> int:
        return tokens[pair[1]].end - tokens[pair[0]].start

    return max(pairs, key=width, default=None)


def _takes_comma(tokens: _Tokens, opening: int, pieces: list[_Tokens]) -> bool:
    """True if a comma behind the last piece changes nothing."""
    if any(token.text == "for" and not depth for token, depth in _depths(pieces[-1])):
        return False
    before = tokens[opening - 1].text if opening else ""
    follows_value = before[-1:].isalnum() or before[-1:] in ("_", ")", "]")
    is_subscript = tokens[opening].text == "[" and follows_value
    return len(pieces) > 1 and not is_subscript
