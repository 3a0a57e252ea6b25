"""Options of a migration, and outcomes of its rules."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Mapping

if TYPE_CHECKING:
    from tritonclient_shim.core.model import ModelProfile


@dataclass(frozen=True)
class MigrateOptions:
    """Options of a migration.

    ``to``: the protocol that replaces a choice at run time; '' keeps the choice.
    ``select``: the ids whose uses are rewritten; empty for all.
    ``models``: the models of the server that ``--server`` names.
    """

    to: str = ""
    unsafe: bool = False
    select: frozenset[str] = frozenset()
    models: Mapping[str, ModelProfile] = field(default_factory=dict)

    def selects(self, *ids: str) -> bool:
        """True if uses of all these ids are to be rewritten."""
        return not self.select or self.select.issuperset(ids)


class State(Enum):
    """The outcome of a legacy use."""

    SAFE = "rewritten"
    UNSAFE = "rewritten, unsafe"
    TODO = "to do"


@dataclass(frozen=True)
class SiteOutcome:
    """The outcome of a legacy use, with the change or the reason.

    ``comment``: True if the file gets a comment, because the author has work to do.
    """

    state: State
    what: str
    comment: bool = False

    @property
    def todo(self) -> bool:
        """True if the use is still there."""
        return self.state is State.TODO


NOT_SELECTED = "--select has other ids"


class Refused(Exception):
    """A rule cannot rewrite a use. The text is the reason.

    ``by_option``: True if an option allows the rewrite. ``node``: the use, where it is another one.
    """

    def __init__(self, reason: str, by_option: bool = False, node: ast.AST | None = None) -> None:
        super().__init__(reason)
        self.by_option, self.node = by_option, node
