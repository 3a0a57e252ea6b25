"""``tritonclient-shim COMMAND --help`` of every command."""

from __future__ import annotations

import pkgutil
import re

import pytest

from tritonclient_shim import cli
from tritonclient_shim.cli import main

COMMANDS = [one.name for one in pkgutil.iter_modules(cli.__path__) if one.name[0] != "_"]


@pytest.mark.parametrize("command", COMMANDS)
def test_defaults_are_values(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """A default is told once, and only where it is a value that a user can give."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"usage: tritonclient-shim {command} ")
    assert not re.findall(r"\(default:? (?:|False|None|\[\])\)|\(default[^()]*\) \(default", text)


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("run", "(default: numpy,async,future)"),
        ("migrate", "(default: text)"),
        ("doctor", "(default: 10)"),
    ],
)
def test_defaults_are_told(capsys: pytest.CaptureFixture[str], command: str, default: str) -> None:
    """The help names the defaults that matter."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert default in " ".join(capsys.readouterr().out.split())
