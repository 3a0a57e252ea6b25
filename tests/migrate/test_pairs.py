"""Each pair of sources: what the first becomes is the second."""

from __future__ import annotations

import pytest

from tests.migrate.pairs import PAIRS
from tests.migrate.sources_migrated import STAR, body, migrated, todo


@pytest.mark.parametrize("name", PAIRS)
def test_rewritten(name: str) -> None:
    """Each legacy use becomes what the guide shows, and the format of the rest stays."""
    before, after = PAIRS[name]
    assert body(before).replace("'", '"') == after.replace("'", '"')
    assert todo(migrated(STAR + before)) == []


@pytest.mark.parametrize("name", PAIRS)
def test_migrated_twice(name: str) -> None:
    """What is migrated stays as it is."""
    once = migrated(STAR + PAIRS[name][0]).after
    assert migrated(once.decode()).after == once
