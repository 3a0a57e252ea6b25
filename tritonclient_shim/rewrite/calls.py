"""Calls: their arguments by parameter, and the text of a call of another function."""

from __future__ import annotations

import ast
from itertools import chain
from typing import Mapping, Sequence

from tritonclient_shim.migrate.sites import arguments
from tritonclient_shim.rewrite.edits import Edits
from tritonclient_shim.rewrite.options import Refused


def call_arguments(names: tuple[str, ...], call: ast.Call) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter; raise Refused if ``*`` or ``**`` hide any."""
    given = {keyword.arg for keyword in call.keywords}
    if None in given or any(isinstance(argument, ast.Starred) for argument in call.args):
        raise Refused("name the arguments: some are in a list or dict made elsewhere")
    if given - set(names) or len(call.args) > len(names):
        raise Refused(f"expected the arguments {', '.join(names)}")
    return arguments(names, call)


def owner(call: ast.Call) -> ast.expr:
    """Return the object whose method a call calls."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def call_text(
    edits: Edits,
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
    (_, opening), *arguments, (last, closing) = edits.parts(call)
    keywords = [keyword.arg or "" for keyword in call.keywords]
    old = dict(zip([*names[: len(call.args)], *keywords], [*arguments, (last, ", ")]))
    new = [(text, ", ") for text in before]
    for name in names:
        if name in old and name in kept:
            text, behind = old[name]
            value = text.partition("=")[2].lstrip() if name in keywords else text
            new.append((f"{kept[name]}={value}" if kept[name] else value, behind))
    new += [(text, ", ") for text in after]
    new[-1] = new[-1][0], closing
    return "".join((function, opening, *chain.from_iterable(new), ")"))
