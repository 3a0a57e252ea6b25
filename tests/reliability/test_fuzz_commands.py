"""Commands with any arguments."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reliability import odd_values as odd
from tests.reliability.amounts import amount
from tests.reliability.counts import Tried
from tests.reliability.fuzzing import fuzzed
from tritonclient_shim import cli
from tritonclient_shim.gateway.options import OPTIONS

COMMANDS = "Commands with any arguments end with a status of theirs, and a text where they refuse"
PROGRAM = "from tensorrtserver.api import *\nctx = InferContext('x:1', 0, 'm')\n"

#: The options of each command, and their values. None starts a server or connects to one.
ARGUMENTS = {
    "doctor": ["--url", "127.0.0.1:1", "--protocol", "http", "grpc"],
    "explain": ["TS051", "InferContext.run", "np.bool", "TS", "ctx.run()", ".", "()"],
    "guide": ["TS051", "inference", "#inference", "--list"],
    "scan": [
        *("good.py", ".", "--format", "json", "sarif", "--only", "TS050,TS051", "--exclude"),
        *("*.py", "--baseline", "--write-baseline", "nowhere.py", "bad.json"),
    ],
    "migrate": [
        *("good.py", ".", "--check", "--to", "http", "grpc", "--unsafe"),
        *("--format", "json", "--exclude"),
    ],
    "run": ["-m", "missing.py"],
    "gateway": ["--" + name.replace("_", "-") for name in OPTIONS] + ["127.0.0.1:1", "1"],
}
#: ``run`` executes the user's program: these options get texts that are no program.
HARMLESS = re.compile(r"-[mc].*|.*good\.py|\.|-|/.*", re.DOTALL)


def _is_argument(text: str) -> bool:
    """True if a system can pass the text, and it names nothing outside the working folder."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return not {"\0", "/"}.intersection(text) and text != ".." and len(text) < 400


texts = odd.texts.filter(_is_argument)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a program and a file that is no configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(PROGRAM)
    (tmp_path / "bad.json").write_text("{")
    return tmp_path


def status_of(arguments: list[str]) -> Any:
    """Return the exit status of the command."""
    try:
        return cli.main(arguments)
    except SystemExit as end:
        return end.code


@fuzzed("commands with any arguments", len(ARGUMENTS))
@given(data=st.data())
def _commands(command: str, capsys: pytest.CaptureFixture[str], data: Any) -> None:
    known = odd.mostly(st.sampled_from(ARGUMENTS[command]), texts)
    words = data.draw(st.lists(known, max_size=5))
    if command == "run":
        words = [item for item in words if not HARMLESS.fullmatch(item)]
    if command == "gateway":  # refused before it starts, because there is no such option
        words.append("--no-such-option")
    status = status_of([command, *words])
    written = capsys.readouterr()
    assert status in ((0, 1, 2, 3) if command in ("scan", "migrate") else (0, 1, 2))
    assert "Traceback" not in written.err and "a bug of" not in written.err, written.err
    assert status in (0, 1) or written.err.strip(), words
    assert status == 0 or written.out.strip() or written.err.strip(), words
    assert status_of(["explain", "TS051"]) == 0
    assert "TS051" in capsys.readouterr().out


@pytest.mark.parametrize("command", list(ARGUMENTS))
def test_commands(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str], tried: Tried
) -> None:
    """Each command ends with a status for options in any order, repeated, and with odd values."""
    _commands(command, capsys)
    tried(COMMANDS, amount("commands with any arguments") // len(ARGUMENTS), "commands")


def test_every_command_is_tried() -> None:
    """Every command is in the table of fuzzed commands."""
    result = {path.stem for path in Path(str(cli.__file__)).parent.glob("[a-z]*.py")}
    assert result == {*ARGUMENTS}
