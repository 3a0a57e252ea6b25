"""Commands with any arguments, and on files of any content."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reliability import odd_files
from tests.reliability import odd_values as odd
from tests.reliability.fuzzing import fuzzed
from tritonclient_shim import cli
from tritonclient_shim.gateway.options import OPTIONS
from tritonclient_shim.migrate.files import Migrated, migrate
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.imports import may_use_v1
from tritonclient_shim.scan.sources import Unreadable

PROGRAM = "from tensorrtserver.api import *\nctx = InferContext('x:1', 0, 'm')\n"

#: The options of each command, and their values. None starts a server or connects to one. ``run``
#: executes the user's program, so it gets no option and no folder.
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
    "run": ["missing.py"],
    "gateway": ["--" + name.replace("_", "-") for name in OPTIONS] + ["127.0.0.1:1", "1"],
}
#: Runs a command, and returns its status.
Command = Callable[..., int]


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Return commands in a folder with a program and a file that is no configuration."""
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text(PROGRAM)
    Path("bad.json").write_text("{")

    def run(*arguments: str) -> int:
        """Run a command, check that each failure has a text, and return the status."""
        try:
            status: Any = cli.main(arguments)
        except SystemExit as end:
            status = end.code
        written = capsys.readouterr()
        assert status in ((0, 1, 2, 3) if arguments[0] in ("scan", "migrate") else (0, 1, 2))
        assert "Traceback" not in written.err and "a bug of" not in written.err, written.err
        assert status in (0, 1) or re.search(r"tritonclient-shim \w+: .", written.err), written.err
        assert status == 0 or (written.out + written.err).strip()
        return int(status)

    return run


def _is_argument(text: str) -> bool:
    """True if a system can pass the text, and it names nothing outside the working folder."""
    return not {"\0", "/", "\ud800"}.intersection(text) and text != ".." and len(text) < 400


texts = odd.texts.filter(_is_argument)


@pytest.mark.parametrize("name", list(ARGUMENTS))
@fuzzed("arguments of a command")
@given(data=st.data())
def test_arguments(name: str, command: Command, data: Any) -> None:
    """Each command ends with a status for options in any order, repeated, and with odd values."""
    words = data.draw(st.lists(odd.mostly(st.sampled_from(ARGUMENTS[name]), texts), max_size=5))
    if name == "run":
        words = [word for word in words if word[:1] not in ("-", ".")]
    if name == "gateway":  # refused before it starts, because there is no such option
        words.append("--no-such-option")
    command(name, *words)
    assert command("explain", "TS051") == 0


def test_every_command_is_tried() -> None:
    """Every command is in the table of fuzzed commands."""
    commands = {path.stem for path in Path(str(cli.__file__)).parent.glob("[a-z]*.py")}
    assert commands == {*ARGUMENTS}


def _file(draw: Any) -> tuple[str, bytes]:
    """Write a program or a notebook of any content. Return its name and content."""
    if draw(st.integers(0, 2)):
        name, content = "fuzzed.py", draw(odd_files.sources())
    else:
        name, content = "fuzzed.ipynb", draw(odd_files.notebooks())
    Path(name).write_bytes(content)
    return name, content


@fuzzed("programs that are scanned or migrated")
@given(data=st.data())
def test_scan(command: Command, data: Any) -> None:
    """Sources and notebooks of any content are scanned."""
    name, _ = _file(data.draw)
    status = command("scan", name, "--format", data.draw(st.sampled_from(["text", "json"])))
    if status < 2:
        command("scan", name, "--write-baseline", "known.json")
        assert command("scan", name, "--baseline", "known.json") == 0
    assert command("scan", "good.py") == 1


def is_python(content: bytes) -> bool:
    """True if Python can parse the source."""
    try:
        ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _left(migrated: Migrated) -> int:
    """Return how many uses of the old client are left."""
    return sum(outcome.todo for _, outcome in migrated.uses)


@fuzzed("programs that are scanned or migrated")
@given(
    data=st.data(),
    options=st.builds(
        MigrateOptions, st.sampled_from(["", "grpc", "http"]), st.booleans(), st.just({})
    ),
)
def test_migrate(command: Command, data: Any, options: MigrateOptions) -> None:
    """Changed programs of the old client are migrated to valid programs, written completely."""
    name, content = _file(data.draw)
    chosen = [f"--to={options.to}"] * bool(options.to) + ["--unsafe"] * options.unsafe
    status, written = command("migrate", "--write", name, *chosen), Path(name).read_bytes()
    try:
        result = migrate(name, content, options)
    except Unreadable as error:
        assert str(error).startswith(name)
        analysed = may_use_v1(name, content)
        assert (status, written) == (3 if analysed else 0, content)
        return
    assert (status, written) == (int(result.todo), result.after)
    again = migrate(name, written, options)
    assert not again.changed or _left(again) < _left(result), "it changes what it has made"
    if name == "fuzzed.py":
        assert is_python(written) or not is_python(content)
    else:
        assert sources.parsed(name, written).broken == sources.parsed(name, content).broken
