"""What a migration was asked for, and what it did at a place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Mapping


@dataclass(frozen=True)
class MigrateOptions:
    """``to``: the protocol that takes the place of one chosen at run time; '' keeps the choice.

    ``select``: the ids whose uses are rewritten; empty for all.
    ``configs``: name of a model → its configuration, as the server sends it over HTTP.
    """

    to: str = ""
    unsafe: bool = False
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    select: frozenset[str] = frozenset()

    def selects(self, *ids: str) -> bool:
        """True if uses of all these ids are to be rewritten."""
        return not self.select or self.select.issuperset(ids)


class State(Enum):
    """What became of a legacy use."""

    SAFE = "rewritten"
    UNSAFE = "rewritten, unsafe"
    TODO = "to do"


@dataclass(frozen=True)
class SiteOutcome:
    """What became of a legacy use, and how or why in one sentence.

    ``comment``: whether the file is to say so, too: where the author has something to do.
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
    """A rule cannot rewrite a place; the text says why.

    ``by_option``: an option would have it rewritten.
    """

    def __init__(self, reason: str, by_option: bool = False) -> None:
        super().__init__(reason)
        self.by_option = by_option
