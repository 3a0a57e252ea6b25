"""The planned change of a rule."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from tritonclient_shim.rewrite.options import Refused

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
    """Return the plan for a node. Refuse unsafe plans without --unsafe, and inexact places."""
    if sys.version_info < (3, 12) and draft.edits.is_in_text(node):
        raise Refused(
            "it is in an f-string: give it a statement of its own, or run migrate with Python 3.12"
        )
    if plan.unsafe and not draft.options.unsafe:
        raise Refused(f"unsafe: {plan.unsafe}; --unsafe rewrites it", by_option=True)
    return plan


def carry_out(plan: Plan, node: ast.AST, draft: Draft) -> None:
    """Change a node, and record the outcome."""
    plan.make()
    draft.note(node, draft.state(plan.unsafe), plan.what)
