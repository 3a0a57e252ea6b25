"""The wheel that the tests in this folder install."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installation import distributions


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return our wheel."""
    return distributions.wheel_under_test(tmp_path_factory.mktemp("ours"))
