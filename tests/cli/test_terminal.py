"""What commands do at a terminal alone: colours, a pager and progress."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.cli_scripts import ROOT, shim

LEGACY = "from tensorrtserver.api import *\nServerHealthContext('u:1', ProtocolType.GRPC)\n"
ESCAPE = "\x1b["
COMMANDS = (("scan", "old.py"), ("migrate", "old.py"), ("explain", "TS051"), ("doctor",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a legacy program."""
    (tmp_path / "old.py").write_text(LEGACY, "utf-8")
    return tmp_path


def at_terminal(folder: Path, *words: str, **variables: str) -> str:
    """Run ``tritonclient-shim words`` at a terminal of its own, and return what it shows."""
    ours, theirs = pty.openpty()
    variables = {"TERM": "xterm", "PYTHONPATH": str(ROOT), **variables}
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PAGER")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tritonclient_shim", *words],
        cwd=str(folder),
        env={**kept, **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := _read(ours):
            shown += part
    finally:
        os.close(ours)
        process.wait(60)
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Return what a terminal shows next. Linux reports its end as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_colours(folder: Path, words: tuple[str, ...]) -> None:
    """Commands use colours at a terminal, but not with NO_COLOR, and never in a pipe."""
    assert ESCAPE in at_terminal(folder, *words)
    assert ESCAPE not in at_terminal(folder, *words, NO_COLOR="1")
    assert ESCAPE not in at_terminal(folder, *words, TERM="dumb")
    piped = shim(folder, *words)
    assert piped.stdout and ESCAPE not in piped.stdout + piped.stderr


def test_pager(folder: Path) -> None:
    """The guide comes in the user's pager at a terminal, as a short section and a pipe do not."""
    mark = f"{sys.executable} -c \"print('paged', len(__import__('sys').stdin.read()) > 9999)\""
    assert at_terminal(folder, "guide", PAGER=mark, NO_COLOR="1") == "paged True\n"
    assert at_terminal(folder, "guide", PAGER="/no/pager").count("\n") > 999
    assert "paged" not in at_terminal(folder, "guide", "health", PAGER=mark, LINES="999")
    assert shim(folder, "guide", PAGER=mark).stdout.startswith("# ")


def test_progress(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long scan shows at a terminal how far it is, and erases that line at the end."""
    program = "from tritonclient_shim.cli import _terminal, main\n_terminal._PATIENCE = 0\nmain()\n"
    (folder / "impatient.py").write_text(program, "utf-8")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "impatient.py", "scan", "."],
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=60,
    )
    os.close(theirs)
    shown = _read(ours).decode()
    os.close(ours)
    assert "1 of 2 files: impatient.py" in shown
    assert shown.endswith("\r\x1b[K")
    assert b"files: " not in done.stdout and b"TS020" in done.stdout
