"""Source of Python 3.6 → what later Pythons compile.

Scripts of 2019 have ``FLAGS.async`` from argparse's ``--async``; since Python 3.7 that is a
syntax error.
"""

from __future__ import annotations

import io
import tokenize

#: The first letter is a full-width "a". Python looks for keywords in the source as it is written
#: and normalises identifiers only then (PEP 3131): this is an identifier, and it reads "async".
NAME = "\uff41sync"
_STATEMENTS = frozenset({"def", "for", "with"})


def rewritten(source: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the source with ``async`` as a name where it is no keyword, and each changed place.

    A place is a line and a column, from 1. Every line and column stays where it is. Source that
    cannot be split into tokens is returned unchanged.
    """
    lines = io.StringIO(source).readlines()  # a form feed ends no line of Python
    try:
        places = _places(source)
    except (tokenize.TokenError, SyntaxError):
        return source, []
    for row, column in reversed(places):
        text = lines[row - 1]
        lines[row - 1] = text[:column] + NAME + text[column + len("async") :]
    return "".join(lines), [(row, column + 1) for row, column in places]


def restored(text: str) -> str:
    """Return the text of a rewritten source as its author wrote it."""
    return text.replace(NAME, "async")


def _places(source: str) -> list[tuple[int, int]]:
    if "async" not in source:
        return []
    skipped = (tokenize.COMMENT, tokenize.NL)
    readline = io.StringIO(source).readline
    tokens = [item for item in tokenize.generate_tokens(readline) if item.type not in skipped]
    return [
        token.start
        for before, token, after in zip([None, *tokens], tokens, tokens[1:])
        if token.string == "async" and _is_name(before, after)
    ]


def _is_name(before: tokenize.TokenInfo | None, after: tokenize.TokenInfo) -> bool:
    return (before is not None and before.string == ".") or after.string not in _STATEMENTS
