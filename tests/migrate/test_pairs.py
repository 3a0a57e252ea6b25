"""For each pair of sources in ``pairs.txt``, migration turns the first into the second."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.sources_migrated import STAR, body, migrated, todo

_TEXTS = Path(__file__).with_name("pairs.txt").read_text("utf-8").split("=== ")[1:]
#: Name → before and after, below a star import.
PAIRS = {text.partition("\n")[0]: text.partition("\n")[2].split("---\n") for text in _TEXTS}


@pytest.mark.parametrize("name", PAIRS)
def test_rewritten(name: str) -> None:
    """Each legacy use becomes what the guide shows. A second migration changes nothing."""
    before, after = PAIRS[name]
    assert body(before) == after
    assert todo(migrated(STAR + before)) == []
    once = migrated(STAR + before).after
    assert migrated(once.decode()).after == once
