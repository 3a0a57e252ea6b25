"""Scan reports every use in the legacy programs, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate import uses


@pytest.mark.parametrize("path", uses.sources_of_programs(), ids=uses.name_of)
def test_every_use_is_found_and_nothing_else(path: Path) -> None:
    """The ids at each line are those of ``expected_uses.txt``."""
    assert uses.scanned(path) == uses.expected()[uses.name_of(path)]


def test_every_expectation_is_of_a_program() -> None:
    """``expected_uses.txt`` names exactly the existing programs."""
    assert uses.expected().keys() == {uses.name_of(path) for path in uses.sources_of_programs()}
