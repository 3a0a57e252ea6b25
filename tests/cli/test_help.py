"""``tritonclient-shim COMMAND --help`` of every command."""

from __future__ import annotations

import pkgutil
import re

import pytest

from tritonclient_shim import __version__, cli
from tritonclient_shim.cli import main

COMMANDS = [file.name for file in pkgutil.iter_modules(cli.__path__) if file.name[0] != "_"]


@pytest.mark.parametrize("command", COMMANDS)
def test_defaults_are_values(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """A default is shown once, and only if a user can give this value."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"usage: tritonclient-shim {command} ")
    assert not re.findall(r"\(default:? (?:|False|None|\[\])\)|\(default[^()]*\) \(default", text)


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command, the help has a line for every command."""
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for command in COMMANDS:
        (line,) = [line for line in lines if line.startswith(f"    {command} ")]
        assert line.endswith(".") and len(line) < 80


@pytest.mark.parametrize("option", ["--colour", "-x"])
def test_an_unknown_option_without_a_command(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """An unknown option is wrong usage, also without a command."""
    with pytest.raises(SystemExit) as ended:
        main([option])
    assert ended.value.code == 2
    assert f"unrecognized arguments: {option}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["scna", "src"], "no command 'scna'; did you mean scan? expected one of: doctor, explain"),
        (["zzz"], "no command 'zzz'; expected one of: doctor, "),
        (["scan", "--formt=json", "src"], "--formt=json; did you mean --format?"),
        (["scan", "--zzzz", "src"], "unrecognized arguments: --zzzz\n"),
    ],
)
def test_misspelt_words(capsys: pytest.CaptureFixture[str], words: list[str], hint: str) -> None:
    """A misspelt command or option is wrong usage, and names the nearest one."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert hint in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``-V`` prints the version, as ``--version`` does."""
    for option in ("-V", "--version"):
        with pytest.raises(SystemExit) as ended:
            main([option])
        assert ended.value.code == 0
        assert capsys.readouterr().out == f"tritonclient-shim {__version__}\n"
