"""Options of a migration, plans of its rules, and their outcomes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Callable, Iterable, Mapping, Sequence

from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of

if TYPE_CHECKING:
    from tritonclient_shim.core.model import ModelProfile
    from tritonclient_shim.migrate.draft import Draft


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


NOT_SELECTED = "--select has other ids"


class Refused(Exception):
    """A rule cannot rewrite a use. The text is the reason.

    ``by_option``: True if an option allows the rewrite. ``node``: the use, where it is another one.
    """

    def __init__(self, reason: str, by_option: bool = False, node: ast.AST | None = None) -> None:
        super().__init__(reason)
        self.by_option, self.node = by_option, node


@dataclass(frozen=True)
class Plan:
    """A planned change: the new text of a node, in a form of `Draft.write`; '' keeps the text.

    ``what``: for the report, in place of the form. ``unsafe``: what the program may notice.
    ``at``: the node that changes, if it is another one than the use. ``also``: what else is done.
    """

    form: str = ""
    parts: Sequence[ast.AST | str] = ()
    what: str = ""
    unsafe: tuple[UnsafeChange, ...] = ()
    at: ast.AST | None = None
    also: Callable[[], None] | None = None


def planned(
    rule: Callable[..., Plan], node: ast.AST, draft: Draft, *more: object, ids: Iterable[str] = ()
) -> Plan:
    """Return the plan of a rule for a node. Refuse what the options leave out, and f-strings."""
    if not draft.options.selects(*ids):
        raise Refused(NOT_SELECTED, by_option=True)
    plan = rule(node, draft, *more)
    if any(isinstance(parent, ast.JoinedStr) for parent in draft.flows.around(node)):
        raise Refused("give it a statement of its own, outside of the f-string")
    refuse_unless_allowed(plan.unsafe, draft)
    return plan


def refuse_unless_allowed(changes: Sequence[UnsafeChange], draft: Draft) -> None:
    """Raise Refused if the options do not allow unsafe changes."""
    if not all(map(draft.options.allows, changes)):
        raise Refused(reason_of(changes), by_option=True)


def carry_out(plan: Plan, node: ast.AST, draft: Draft) -> None:
    """Change a node, and record the outcome."""
    if plan.also is not None:
        plan.also()
    if plan.form:
        draft.write(plan.at or node, plan.form, *plan.parts)
    state = State.UNSAFE if plan.unsafe else State.SAFE
    what = plan.what or plan.form or "the same"
    draft.outcomes[node] = SiteOutcome(state, what, rows=plan.unsafe)
