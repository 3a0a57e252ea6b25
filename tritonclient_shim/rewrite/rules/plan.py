"""The planned change of a rule."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from tritonclient_shim.rewrite.options import Refused, SiteOutcome, State

if TYPE_CHECKING:
    from tritonclient_shim.rewrite.draft import Draft


@dataclass(frozen=True)
class Plan:
    """A planned change. ``make`` makes the change, ``what`` describes it in the report.

    ``unsafe``: when the program behaves differently; '' for never.
    """

    make: Callable[[], None]
    what: str
    unsafe: str = ""


def checked(plan: Plan, node: ast.AST, draft: Draft) -> Plan:
    """Return the plan for a node. Refuse f-strings, and unsafe plans without --unsafe."""
    if any(isinstance(parent, ast.JoinedStr) for parent in draft.flows.around(node)):
        raise Refused("give it a statement of its own, outside of the f-string")
    if plan.unsafe and not draft.options.unsafe:
        raise Refused(f"unsafe: {plan.unsafe}; --unsafe rewrites it", by_option=True)
    return plan


def carry_out(plan: Plan, node: ast.AST, draft: Draft) -> None:
    """Change a node, and record the outcome."""
    plan.make()
    state = State.UNSAFE if plan.unsafe else State.SAFE
    draft.outcomes[node] = SiteOutcome(state, plan.what)
