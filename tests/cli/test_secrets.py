"""Passwords in addresses stay out of the commands' output."""

from __future__ import annotations

import pytest

from tritonclient_shim.cli import main

URL = "http://user:s3cret@127.0.0.1:1"


def test_passwords_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """An error about an address with a password has only host and port."""
    assert main(["doctor", "--url", URL]) == 1
    output = capsys.readouterr()
    assert "http://127.0.0.1:1" in output.out + output.err
    assert "s3cret" not in output.out + output.err
