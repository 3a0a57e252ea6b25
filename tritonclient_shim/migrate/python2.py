"""Recognise syntax errors of Python 2 source by their message and their line."""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import sys
from typing import Iterator

_HANDLER = "'except error, name'"
_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
_CODE = r"^[^'\"#]*"  # before any string or comment
#: Python's message → the feature of Python 2 behind it.
_MESSAGES = {
    "Missing parentheses in call to 'print'": "a print statement",
    "Missing parentheses in call to 'exec'": "an exec statement",
    "inconsistent use of tabs and spaces": "tabs and spaces mixed in the indentation",
}
#: A pattern of the line → the feature, if Python's message is less precise.
_LINES = tuple(
    (re.compile(pattern.replace("_EXCEPTION_", rf"(?:{'|'.join(_EXCEPTIONS)})\b")), what)
    for pattern, what in (
        (r"^\s*except\b[^:]+,\s*(?!_EXCEPTION_)(?:\w+|\([^()]*\))\s*:", _HANDLER),
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
    """Return the feature of Python 2 behind an error, such as ``a print statement``, or ''."""
    for message, what in _MESSAGES.items():
        if message in str(error.msg):
            return what
    line = error.text or linecache.getline(error.filename or "", error.lineno or 0)
    return next((what for pattern, what in _LINES if pattern.search(line)), "")


def refuse(source: bytes | str, path: str) -> None:
    """Raise SyntaxError for ``except Error, name``, as Python before 3.14 does by itself.

    Python 3.14 parses it as two exception classes (PEP 758): the script would start, and fail
    with a NameError where it should handle an error.
    """
    text = source if isinstance(source, bytes) else source.encode()
    if sys.version_info < (3, 14) or not re.search(rb"\bexcept\b[^:]*,", text):
        return
    handler = next(named_handlers(ast.parse(source, path)), None)
    if handler is not None:
        line = text.splitlines()[handler.lineno - 1].decode(errors="replace")
        place = (path, handler.lineno, handler.col_offset + 1, line)
        raise SyntaxError("multiple exception types must be parenthesized", place)


def named_handlers(tree: ast.Module) -> Iterator[ast.ExceptHandler]:
    """Yield the handlers ``except A, b`` where ``b`` can only be a name for the error."""
    nodes = list(ast.walk(tree))
    classes, values = _classes(nodes), _values(nodes)
    for node in nodes:
        if not isinstance(node, ast.ExceptHandler) or node.name is not None:
            continue
        last = _last_of_a_bare_pair(node.type)
        meant = isinstance(last, ast.Name) and not _may_be_class(last.id, classes)
        if isinstance(last, ast.Name) and meant and last.id in values:
            meant = _uses(node.body, last.id)
        if meant or isinstance(last, ast.Tuple):
            yield node


def _last_of_a_bare_pair(node: ast.expr | None) -> ast.expr | None:
    """``a, b`` without brackets → ``b``; else None. A tuple in brackets begins before ``a``."""
    if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
        return None
    first, last = node.elts
    bare = (node.lineno, node.col_offset) == (first.lineno, first.col_offset)
    return last if bare else None


def _classes(nodes: list[ast.AST]) -> frozenset[str]:
    """Return names that may be exceptions: builtin, imported or defined; ``*`` for star imports."""
    names = set(_EXCEPTIONS)
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((item.asname or item.name).partition(".")[0] for item in node.names)
    return frozenset(names)


def _may_be_class(name: str, classes: frozenset[str]) -> bool:
    """True if a name may be a class. A star import may bind any name with a capital letter."""
    return name in classes or ("*" in classes and name[:1].isupper())


def _values(nodes: list[ast.AST]) -> frozenset[str]:
    """Return parameters and assigned names: each may hold exception classes, or anything else."""
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(parameters | names)


def _uses(body: list[ast.stmt], name: str) -> bool:
    """True if the handler uses the name. Handlers use errors, and hardly ever classes."""
    inside = (node for statement in body for node in ast.walk(statement))
    return any(isinstance(node, ast.Name) and node.id == name for node in inside)
