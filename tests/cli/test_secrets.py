"""Passwords in addresses stay out of the commands' output."""

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
    """An error about an address with a password has only host and port."""
    assert main(command) == status
    output = capsys.readouterr()
    assert "http://127.0.0.1:1" in output.out + output.err
    assert "s3cret" not in output.out + output.err
