"""Options of a migration, and the outcomes of legacy uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Mapping

from tritonclient_shim.migrate.unsafe import UnsafeChange

if TYPE_CHECKING:
    from tritonclient_shim.servers.base import ModelProfile


@dataclass(frozen=True)
class MigrateOptions:
    """Options of a migration.

    ``to``: the protocol that replaces a choice at run time; '' keeps the choice.
    ``select``: the ids whose uses are rewritten; empty for all.
    ``models``: the models of the server that ``--server`` names. ``helpers``: the module that the
    files import the functions of the helpers from; '' if each file has its own.
    """

    to: str = ""
    unsafe: bool = False
    select: frozenset[str] = frozenset()
    models: Mapping[str, ModelProfile] = field(default_factory=dict)
    helpers: str = ""

    def selects(self, *ids: str) -> bool:
        """True if uses of all these ids are to be rewritten."""
        return not self.select or self.select.issuperset(ids)

    def allows(self, change: UnsafeChange) -> bool:
        """True if the program may notice a change."""
        return self.unsafe


class State(Enum):
    """The outcome of a legacy use."""

    SAFE = "rewritten"
    UNSAFE = "rewritten, unsafe"
    TODO = "to do"


@dataclass(frozen=True)
class SiteOutcome:
    """The outcome of a legacy use, with the change or the reason.

    ``comment``: True if the file gets a comment, because the author has work to do. ``rows``: what
    the program may notice.
    """

    state: State
    what: str
    comment: bool = False
    rows: tuple[UnsafeChange, ...] = ()

    def __post_init__(self) -> None:
        if self.state is State.UNSAFE and not self.rows:
            raise ValueError(f"an unsafe outcome names no row of the table: {self.what}")

    @property
    def todo(self) -> bool:
        """True if the use is still there."""
        return self.state is State.TODO
