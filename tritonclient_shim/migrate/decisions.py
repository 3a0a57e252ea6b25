"""What rules decide of a use: a `Plan`, or a `Keep` with the reason why the use stays."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Mapping, Sequence, Tuple

from tritonclient_shim.migrate.edits import Edit, Part, replaced
from tritonclient_shim.migrate.options import MigrateOptions, SiteOutcome, State
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of
from tritonclient_shim.scan.sites import Site

NOT_SELECTED = "--select has other ids"
Rows = Tuple[UnsafeChange, ...]
#: The outcome of a use, by its node, or by the call that it is a part of.
Outcomes = Mapping[ast.AST, SiteOutcome]


class Refused(Exception):
    """A rule cannot rewrite a use. The text is the reason.

    ``by_option``: True if an option allows the rewrite. ``node``: the use, where it is another one.
    """

    def __init__(self, reason: str, by_option: bool = False, node: ast.AST | None = None) -> None:
        super().__init__(reason)
        self.by_option = by_option
        self.node = node


@dataclass(frozen=True)
class Keep:
    """Why a use stays, and others with it.

    ``by_option``: True if an option allows the rewrite. ``node``: the use that is the reason.
    """

    reason: str
    node: ast.AST
    by_option: bool = False

    @property
    def outcome(self) -> SiteOutcome:
        """Return the outcome of the use, with a comment unless an option rewrites it."""
        return SiteOutcome(State.TODO, self.reason, comment=not self.by_option)


def keep(refused: Refused, node: ast.AST) -> Keep:
    """Return why a use stays. ``node``: the use, unless the refusal names another one."""
    return Keep(str(refused), refused.node or node, refused.by_option)


@dataclass(frozen=True)
class Decisions:
    """What all plans of a file decide together. Edits depend on it.

    ``protocols``: those of the clients in use. ``connects``: a protocol is chosen at run time.
    ``protocols_stay``: v1's numbers of protocols stay. ``sends_headers``: a client gets headers of
    the file. ``shares_clients``: several threads may use a client. ``hands_models``: other code
    makes or gets objects that know their model. ``asks_models``: such objects report on their
    requests. ``has_models_in_regions``: such objects may send requests with shared memory.
    ``calls_helper``: a request becomes a call of a helper, and so do all others. ``formats_stay``:
    formats outside of calls stay for requests that stay. ``keeps_handed``: contexts for requests
    stay that other code makes or gets. ``kept``: names and modules of v1 that stay.
    """

    protocols: frozenset[str] = frozenset()
    connects: bool = False
    protocols_stay: bool = False
    sends_headers: bool = False
    shares_clients: bool = False
    hands_models: bool = False
    asks_models: bool = False
    has_models_in_regions: bool = False
    calls_helper: bool = False
    formats_stay: bool = False
    keeps_handed: bool = True
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """What a use becomes. ``what``: for the report. ``unsafe``: what the program may notice."""

    what: str
    unsafe: Rows

    @property
    def protocols(self) -> frozenset[str]:
        """Return the protocols of the clients that the plan makes."""
        return frozenset()

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits, once all plans of the file are known."""
        return ()

    def outcome(self, decisions: Decisions) -> SiteOutcome:
        """Return the outcome of the use."""
        state = State.UNSAFE if self.unsafe else State.SAFE
        return SiteOutcome(state, self.what, rows=self.unsafe)


@dataclass(frozen=True)
class Rewrite(Plan):
    """A plan whose edits depend on no other plan."""

    own_edits: tuple[Edit, ...] = ()

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits."""
        return self.own_edits


#: A plan for each use, in the order in which edits follow each other.
Plans = Tuple[Tuple[ast.AST, Plan], ...]


def unchanged(what: str = "the same", unsafe: Rows = ()) -> Rewrite:
    """Return the plan for a use whose text does for tritonclient, too."""
    return Rewrite(what, unsafe)


def rewrite(node: ast.AST, form: str, *parts: Part, what: str = "", unsafe: Rows = ()) -> Rewrite:
    """Return the plan that replaces a node by a text of a form and its parts."""
    return Rewrite(what or form, unsafe, (replaced(node, form, *parts),))


def refuse_unless_allowed(changes: Sequence[UnsafeChange], options: MigrateOptions) -> None:
    """Raise Refused if the options do not allow unsafe changes."""
    if not all(map(options.allows, changes)):
        raise Refused(reason_of(changes), by_option=True)


def outcome_of(site: Site, outcomes: Outcomes) -> SiteOutcome | None:
    """Return the outcome of a use; None if it is not decided."""
    own = outcomes.get(site.node)
    if own or site.call is None:
        return own
    return outcomes.get(site.call)
