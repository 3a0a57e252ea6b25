"""What the registry says of migration is what the rules do."""

from __future__ import annotations

from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.rewrite.rules import REWRITTEN


def test_flag_is_what_the_rules_do() -> None:
    """An entry is told as automatic if and only if there is a rule for its uses."""
    assert {id for id, entry in ENTRIES.items() if entry.automatic} == REWRITTEN
