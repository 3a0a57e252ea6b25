"""Edits: what changes in a source. Rules return them; `Document` makes text of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Mapping, Sequence, Union


@dataclass(frozen=True)
class Import:
    """The name that an import binds. The file gets the import."""

    line: str


@dataclass(frozen=True)
class NewText:
    """A text with parts that are known when everything is decided.

    In the form, ``{0}`` stands for the first part. A node stands for its text with all changes.
    ``{name}`` stands for a function of the helpers, and ``{old}`` for the text that is replaced,
    with the changes inside it.
    """

    form: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class NewCall:
    """A call of another function, with arguments of a call. The format between these stays.

    ``names``: the parameters of the call. ``kept``: parameter → its new name, '' for an argument by
    position. At least one is given. ``before`` and ``after``: new arguments. ``on_one_line``: the
    lines of the call are joined, unless there are comments between them.
    """

    call: ast.Call
    function: Part
    names: tuple[str, ...]
    kept: Mapping[str, str]
    before: tuple[Part, ...] = ()
    after: tuple[Part, ...] = ()
    on_one_line: bool = False


Part = Union[ast.AST, str, Import, NewText, NewCall]


def new_text(form: str, *parts: Part) -> NewText:
    """Return a text of a form and its parts."""
    return NewText(form, parts)


def listed(parts: Sequence[Part]) -> NewText:
    """Return parts with commas between them."""
    places = (f"{{{number}}}" for number in range(len(parts)))
    return NewText(", ".join(places), tuple(parts))


# --------------------------------------------------------------------------------- what changes


@dataclass(frozen=True)
class Replace:
    """Replace a node by a text. Several edits replace one node one after the other."""

    node: ast.AST
    text: NewText | NewCall


@dataclass(frozen=True)
class Remove:
    """Remove a statement. ``pass`` replaces it in a line or block that needs another."""

    statement: ast.stmt


@dataclass(frozen=True)
class Above:
    """Add lines above a statement."""

    statement: ast.stmt
    text: NewText


@dataclass(frozen=True)
class Below:
    """Add a statement on one line, or lines, below a statement."""

    statement: ast.stmt
    text: str | NewText


@dataclass(frozen=True)
class Comment:
    """Add a comment above a statement and its other comments, unless it has the comment."""

    statement: ast.stmt
    text: str


@dataclass(frozen=True)
class AddName:
    """Add a name to an import of names of a module."""

    statement: ast.ImportFrom
    name: ast.alias


@dataclass(frozen=True)
class Define:
    """Assign to a name of the module, once. The text is the statement."""

    name: str
    text: NewText


Edit = Union[Replace, Remove, Above, Below, Comment, AddName, Define]


def replaced(node: ast.AST, form: str, *parts: Part) -> Replace:
    """Return the edit that replaces a node by a text of a form and its parts."""
    return Replace(node, NewText(form, parts))
