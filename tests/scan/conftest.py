"""Fixtures of the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.scan_runs import Scanner


@pytest.fixture
def scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scanner:
    """Return a scanner in a new folder."""
    monkeypatch.chdir(tmp_path)
    return Scanner(tmp_path, capsys)
