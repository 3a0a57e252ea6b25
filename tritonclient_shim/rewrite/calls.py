"""Calls: their arguments by parameter, and the text of a call of another function."""

from __future__ import annotations

import ast
import re
from typing import Callable, Mapping, Sequence, Union

from tritonclient_shim.migrate.sites import arguments
from tritonclient_shim.rewrite.edits import Edits
from tritonclient_shim.rewrite.options import Refused

#: The text of an argument, or a function that returns it when the changes are made.
NewArgument = Union[str, Callable[[], str]]
_KEYWORD = re.compile(r"\w+(?=\s*=)")
_KEPT = re.compile(r"(?:\s|#.*\n)*,")  # the comma between arguments


def call_arguments(
    names: tuple[str, ...], call: ast.Call, hidden: bool = False
) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter; raise Refused if ``*`` or ``**`` hide any.

    ``hidden``: ``**`` may hide some.
    """
    if has_list(call) or has_hidden(call) and not hidden:
        raise Refused("the arguments are in a list or dict made elsewhere")
    strange = {keyword.arg for keyword in call.keywords if keyword.arg} - set(names)
    if strange or len(call.args) > len(names):
        raise Refused(f"expected the arguments {', '.join(names)}")
    return arguments(names, call)


def has_list(call: ast.Call) -> bool:
    """True if a call has ``*``."""
    return any(isinstance(argument, ast.Starred) for argument in call.args)


def has_hidden(call: ast.Call) -> bool:
    """True if a call has ``**``."""
    return any(keyword.arg is None for keyword in call.keywords)


def owner(call: ast.Call) -> ast.expr:
    """Return the object whose method a call calls."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def call_text(
    edits: Edits,
    call: ast.Call,
    function: str,
    names: tuple[str, ...],
    before: Sequence[NewArgument] = (),
    kept: Mapping[str, str] | None = None,
    after: Sequence[NewArgument] = (),
) -> str:
    """Return a call of another function, with the arguments of the kept parameters.

    The format between arguments stays. ``kept``: parameter → its new name, '' for an argument by
    position.
    """
    spans = edits.arguments(call)
    keywords = [keyword.arg or "" for keyword in call.keywords]
    parameters = [*names[: len(call.args)], *keywords]
    ends = [*(start for start, _ in spans[1:]), edits.span(call)[1] - 1]
    old = dict(zip(parameters, zip(spans, ends)))
    new: list[tuple[str, str]] = [(_text(item), "") for item in before]
    by_name: list[tuple[str, str]] = []
    for name in names:
        if name in old and name in (kept or {}):
            span, end = old[name]
            keyword = (kept or {})[name]
            text = _renamed(edits.rendered(span), name in keywords, keyword)
            (by_name if keyword else new).append((text, edits.rendered((span[1], end))))
    new += [*by_name, *((_text(item), "") for item in after)]
    first = edits.span(call.func)[1]
    opening = edits.rendered((first, spans[0][0])) if spans else "("
    closing = edits.rendered((spans[-1][1], ends[-1])) if spans else ""
    texts = [text + (between if _KEPT.match(between) else ", ") for text, between in new[:-1]]
    return "".join((function, opening, *texts, *(text for text, _ in new[-1:]), closing, ")"))


def _text(argument: NewArgument) -> str:
    return argument if isinstance(argument, str) else argument()


def _renamed(text: str, has_keyword: bool, name: str) -> str:
    """Return an argument by its new name, or by position."""
    if not has_keyword:
        return f"{name}={text}" if name else text
    return _KEYWORD.sub(name, text, count=1) if name else text.partition("=")[2].lstrip()
