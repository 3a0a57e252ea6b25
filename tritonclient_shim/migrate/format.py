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


def shifted(text: str, column: int, by: int) -> str:
    """Return a part of a source with its lines moved that are aligned with its start.

    ``column``: where the part started. ``by``: how many columns it starts further to the right.
    """
    first, *rows = text.split("\n")
    is_aligned = all(len(_indent(row)) >= column for row in rows if row.strip())
    if not is_aligned or '"""' in text or "'''" in text:
        return text
    moved = [f"{' ' * by}{row}" if by > 0 else row[-by:] for row in rows]
    return "\n".join([first, *(row if row.strip() else "" for row in moved)])


def on_one_line(text: str) -> str | None:
    """Return an expression on one line; None if comments or texts need its lines."""
    rows = text.split("\n")
    if len(rows) == 1:
        return text
    joined = ""
    last_row = 1
    for kind, _, (row, start), (end_row, end) in _whole_tokens(f"({text}\n)"):
        if kind == tokenize.COMMENT or row != end_row and kind == tokenize.STRING:
            return None
        if row > len(rows) or kind in (tokenize.NL, tokenize.NEWLINE):
            continue
        line = rows[row - 1] if row > 1 else f"({rows[0]}"
        part = line[start:end]
        if row > last_row:
            joined = joined.rstrip(" \\")
            is_closing = part in _PAIRS.values()
            if is_closing and part != ")":
                joined = joined.rstrip(",")
            elif not is_closing and joined[-1] not in _PAIRS:
                joined += " "
            last_row = row
        elif joined:
            joined += line[len(line[:start].rstrip()) : start]
        joined += part
    joined = joined[1:].strip()
    layouts = (joined.replace(",)", ")"), joined)
    return next((layout for layout in layouts if _is_equal(layout, text)), None)


def _is_equal(new: str, old: str) -> bool:
    """True if two expressions differ in their layout alone."""
    new_tree = ast.parse(f"({new}\n)")
    return ast.dump(new_tree) == ast.dump(ast.parse(f"({old}\n)"))


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
        if row.rstrip().endswith("\\"):
            lines[-1] += " \\"
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
        self._text = text
        self._indent_below = indent_below

    def broken(self, tokens: _Tokens) -> list[str]:
        """Return the lines that replace the row."""
        indent = _indent(self._text)
        level = _depth_after(tokens)
        is_inside = level < 0 or tokens[-1].text == ","  # of brackets that other rows open
        if level <= 0 and not is_inside:
            return self._lines(tokens, indent)
        if level > 0:
            opening = _last_opening(tokens)
            head = tokens[: opening + 1]
            first, *pieces = _split(tokens[opening + 1 :], 0) or [[]]
            first = [*head, *first]
        else:
            commas = [depth for token, depth in _depths(tokens) if token.text == ","]
            first, *pieces = _split(tokens, min([0, *commas]))
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
        head = self._lines(tokens[: opening + 1], indent)
        inner = tokens[opening + 1 : closing]
        rest = self._lines(tokens[closing:], indent)
        deeper = indent + _INDENT
        if len(deeper + self._of(inner)) <= COLUMNS:
            return [*head, deeper + self._of(inner), *rest]
        pieces = _split(inner, 0)
        lines = [line for piece in pieces for line in self._lines(piece, deeper)]
        if inner[-1].text != "," and _takes_comma(tokens, opening, pieces):
            lines[-1] += ","
        return [*head, *lines, *rest]

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


def _last_opening(tokens: _Tokens) -> int:
    """Return where the innermost bracket opens that other rows close."""
    opened: list[int] = []
    for number, token in enumerate(tokens):
        if token.text in _PAIRS:
            opened.append(number)
        elif token.text in _PAIRS.values() and opened:
            opened.pop()
    return opened[-1]


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

    Brackets that open or close on other rows are no pairs, nor are brackets with nothing between.
    """
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for number, token in enumerate(tokens):
        if token.text in _PAIRS:
            opened.append(number)
        elif token.text in _PAIRS.values() and opened:
            pairs.append((opened.pop(), number))

    def is_outer(pair: tuple[int, int]) -> bool:
        return not any(other[0] < pair[0] and pair[1] < other[1] for other in pairs)

    def width(pair: tuple[int, int]) -> int:
        return tokens[pair[1]].end - tokens[pair[0]].start

    outer = [pair for pair in filter(is_outer, pairs) if pair[1] > pair[0] + 1]
    return max(outer, key=width, default=None)


def _takes_comma(tokens: _Tokens, opening: int, pieces: list[_Tokens]) -> bool:
    """True if a comma behind the last piece changes nothing."""
    if any(token.text == "for" and not depth for token, depth in _depths(pieces[-1])):
        return False
    before = tokens[opening - 1].text if opening else ""
    follows_value = before[-1:].isalnum() or before[-1:] in ("_", ")", "]")
    is_subscript = tokens[opening].text == "[" and follows_value
    return len(pieces) > 1 and not is_subscript
