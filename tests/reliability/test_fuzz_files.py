"""Files with any content: the commands end with a status and a text, without traceback."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reliability import odd_files
from tests.reliability.amounts import amount
from tests.reliability.counts import Tried
from tests.reliability.fuzzing import fuzzed
from tritonclient_shim import cli
from tritonclient_shim.migrate import sources
from tritonclient_shim.migrate.candidates import Candidates
from tritonclient_shim.migrate.sources import Unreadable
from tritonclient_shim.rewrite.files import Migrated, migrate
from tritonclient_shim.rewrite.options import MigrateOptions

FILES = "Files of any content are read by a command, or refused with a status and a text"
PROGRAM = "from tensorrtserver.api import *\nctx = InferContext('x:1', 0, 'm')\n"


class Commands:
    """Commands that run in this process, in a folder of their own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> int:
        """Run a command, check that each failure has a text, and return the status."""
        status = cli.main(arguments)
        written = self._capsys.readouterr()
        assert "Traceback" not in written.err and "a bug of" not in written.err, written.err
        assert status in (0, 1, 2, 3)
        assert status < 2 or re.search(r"tritonclient-shim \w+: .", written.err), written.err
        return status

    def write(self, name: str, content: bytes) -> str:
        """Write a file, and return its name."""
        (self.folder / name).write_bytes(content)
        return name


@pytest.fixture
def commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Commands:
    """Return commands in a folder with one good program."""
    monkeypatch.chdir(tmp_path)
    commands = Commands(tmp_path, capsys)
    commands.write("good.py", PROGRAM.encode())
    return commands


def is_python(content: bytes) -> bool:
    """True if Python can parse the source."""
    try:
        ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


@fuzzed("programs that are migrated", 2)
@given(data=st.data())
def _scan(commands: Commands, data: Any) -> None:
    if data.draw(st.booleans()):
        path = commands.write("fuzzed.py", data.draw(odd_files.sources()))
    else:
        path = commands.write("fuzzed.ipynb", data.draw(odd_files.notebooks()))
    form = data.draw(st.sampled_from(["text", "json", "sarif"]))
    status = commands("scan", path, "--format", form)
    if status < 2:
        commands("scan", path, "--write-baseline", "known.json")
        assert commands("scan", path, "--baseline", "known.json") == 0
    assert commands("scan", "good.py") == 1


def test_scan(commands: Commands, tried: Tried) -> None:
    """Sources and notebooks of any content are scanned."""
    _scan(commands)
    tried(FILES, amount("programs that are migrated") // 2, "programs scanned")


def _left(migrated: Migrated) -> int:
    """Return how many uses of the old client are left."""
    return sum(outcome.todo for _, outcome in migrated.uses)


@fuzzed("programs that are migrated", 2)
@given(data=st.data())
def _migrate(commands: Commands, data: Any) -> None:
    if data.draw(st.integers(0, 3)):
        name, content = "fuzzed.py", data.draw(odd_files.sources())
    else:
        name, content = "fuzzed.ipynb", data.draw(odd_files.notebooks())
    to, unsafe = data.draw(st.sampled_from(["", "grpc", "http"])), data.draw(st.booleans())
    options = MigrateOptions(to, unsafe)
    chosen = [f"--to={options.to}"] * bool(options.to) + ["--unsafe"] * options.unsafe
    status = commands("migrate", "--write", commands.write(name, content), *chosen)
    written = (commands.folder / name).read_bytes()
    try:
        result = migrate(name, content, options)
    except Unreadable as error:
        assert str(error).startswith(name)
        analysed = Candidates().includes(str(commands.folder / name), content)
        assert (status, written) == (3 if analysed else 0, content)
        return
    assert (status, written) == (int(result.todo), result.after)
    again = migrate(name, written, options)
    assert not again.changed or _left(again) < _left(result), "it changes what it has made"
    if name == "fuzzed.py":
        assert is_python(written) or not is_python(content)
    else:
        assert sources.parsed(name, written).broken == sources.parsed(name, content).broken


def test_migrate(commands: Commands, tried: Tried) -> None:
    """Changed programs of the old client are migrated to valid programs, written completely."""
    _migrate(commands)
    tried(FILES, amount("programs that are migrated") // 2, "programs migrated")
