"""Is a syntax error one because the source is Python 2? As far as its line tells."""

from __future__ import annotations

import linecache
import re

_CODE = r"^[^'\"#]*"  # before any string or comment
#: The message that Python has for it → what it is.
_MESSAGES = {
    "Missing parentheses in call to 'print'": "a print statement",
    "Missing parentheses in call to 'exec'": "an exec statement",
    "inconsistent use of tabs and spaces": "tabs and spaces mixed in the indentation",
}
#: The line → what it is; "invalid syntax" to Python, in other words from release to release.
_LINES = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (r"^\s*except\b[^:]+,\s*\w+\s*:", "'except error, name'"),
        (r"^\s*raise\s+[\w.]+\s*,", "'raise error, text'"),
        (r"^\s*def\s+\w+\s*\((?:[^()=]*,)?\s*\(", "a tuple among the parameters"),
        (_CODE + r"\blambda\s*\(", "a tuple among the parameters"),
        (_CODE + r"<>", "the operator <>"),
        (_CODE + r"`", "backticks for repr"),
        (_CODE + r"(?<![\w.])0[0-7]+[lL]?\b(?!\.)", "an octal number without 0o"),
        (_CODE + r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+)[lL]\b", "a number with L"),
        (_CODE + r"\b[uU][rR]['\"]", "a string with ur"),
    )
)


def feature(error: SyntaxError) -> str:
    """What of Python 2 the error is about, such as ``a print statement``; '' for anything else."""
    for message, what in _MESSAGES.items():
        if message in str(error.msg):
            return what
    line = error.text or linecache.getline(error.filename or "", error.lineno or 0)
    return next((what for pattern, what in _LINES if pattern.search(line)), "")
