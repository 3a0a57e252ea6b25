"""Passwords in addresses stay out of what the commands print."""

from __future__ import annotations

import pytest

from tritonclient_shim.cli import main

URL = "http://user:s3cret@127.0.0.1:1"


@pytest.mark.parametrize(
    ("command", "status"), [(["doctor", "--url", URL], 1), (["migrate", ".", "--server", URL], 2)]
)
def test_passwords_are_not_shown(
    command: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody answers at an address with a password: it is told by its host and port alone."""
    assert main(command) == status
    said = capsys.readouterr()
    assert "http://127.0.0.1:1" in said.out + said.err
    assert "s3cret" not in said.out + said.err
