"""Fixtures of the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.scan_runs import Scanner


@pytest.fixture
def scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scanner:
    """``tritonclient-shim scan`` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Scanner(tmp_path, capsys)
