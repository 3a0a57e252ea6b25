"""``tritonclient-shim COMMAND --help`` of every command."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from tritonclient_shim import cli
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


def test_defaults_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names a default that matters."""
    with pytest.raises(SystemExit):
        main(["migrate", "--help"])
    assert "(default: text)" in " ".join(capsys.readouterr().out.split())


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command, the help has a line for every command."""
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for command in COMMANDS:
        (line,) = [line for line in lines if line.startswith(f"    {command} ")]
        assert line.endswith(".") and len(line) < 80


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["scann", "."], "scan"),
        (["doctor", "--modells"], "--models"),
        (["scan", ".", "--exclued=a"], "--exclude"),
        (["scan", ".", "--format", "jsn"], "json"),
    ],
)
def test_suggestions(capsys: pytest.CaptureFixture[str], words: list[str], near: str) -> None:
    """A wrong command, option or choice is an error that suggests the nearest name."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"; did you mean {near}?" in capsys.readouterr().err


def test_nothing_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    """An option like no other gets no suggestion."""
    with pytest.raises(SystemExit):
        main(["scan", ".", "--qqq"])
    assert "unrecognized arguments: --qqq\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "variables", "terminal", "coloured"),
    [
        ([], {}, True, True),
        ([], {}, False, False),
        ([], {"NO_COLOR": "1"}, True, False),
        ([], {"TERM": "dumb"}, True, False),
        (["--color", "never"], {}, True, False),
        (["--color", "always"], {"NO_COLOR": "1"}, False, True),
    ],
)
def test_colours(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    variables: dict[str, str],
    terminal: bool,
    coloured: bool,
) -> None:
    """A terminal gets colours, a pipe does not. NO_COLOR and --color change that."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    (tmp_path / "a.py").write_text("import tensorrtserver.api\n")
    main(["scan", str(tmp_path / "a.py"), *options])
    assert ("\033[33mTS009\033[0m" in capsys.readouterr().out) is coloured
