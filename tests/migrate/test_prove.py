"""``migrate --write --prove COMMAND``: written only if the command ends and prints the same."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed import TritonServer
from tests.cli.cli_scripts import started
from tritonclient_shim.cli import main

PYTHON = shlex.quote(sys.executable)
PROGRAM = """\
import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType
RAW = InferContext.ResultFormat.RAW
with InferContext(sys.argv[1], ProtocolType.HTTP, "simple") as ctx:
    x = np.arange(16, dtype=np.int32)
    sums = ctx.run({"INPUT0": [x], "INPUT1": [x]}, {"OUTPUT0": RAW}, 1)
print(sums["OUTPUT0"][0].tolist())
"""
#: It needs no server, and migrate changes it.
CONTEXT = """\
import sys
from tensorrtserver.api import ServerHealthContext, ProtocolType
ctx = ServerHealthContext("localhost:8001", ProtocolType.GRPC)
"""


class Migration(NamedTuple):
    """How a run of migrate ended."""

    status: int
    out: str
    err: str


class Folder(NamedTuple):
    """A program's folder, which is the working folder."""

    path: Path
    capsys: pytest.CaptureFixture[str]

    def migrate(self, *commands: str, more: tuple[str, ...] = ()) -> Migration:
        """Migrate the folder if the commands prove it."""
        self.capsys.readouterr()
        proofs = [word for command in commands for word in ("--prove", command)]
        status = main(["migrate", "--write", *proofs, *more, "."])
        return Migration(status, *self.capsys.readouterr())

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """Return the empty folder of a program."""
    path = tmp_path / "program"
    path.mkdir()
    (path / "setup.cfg").touch()
    monkeypatch.chdir(path)
    return Folder(path, capsys)


def test_equal_output_is_written(folder: Folder, triton: TritonServer) -> None:
    """A program that prints the same on a server is written. The report says what was proven."""
    script = folder.write("client.py", PROGRAM)
    command = f"{PYTHON} client.py {triton.http}"
    done = folder.migrate(command)
    assert (done.status, done.err) == (0, "")
    assert f"Before and after, status and output are the same: `{command}`." in done.out
    assert "tritonclient" in script.read_text("utf-8")
    assert sorted(path.name for path in folder.path.iterdir()) == ["client.py", "setup.cfg"]


def test_other_output_is_not_written(folder: Folder) -> None:
    """The first line that differs is shown, with the file. Nothing is written; the status is 4."""
    text = f"{CONTEXT}print('begin')\nprint(open(__file__).read())\n"
    script = folder.write("client.py", text)
    command = f"{PYTHON} client.py"
    done = folder.migrate(command)
    assert done.status == 4
    assert f"`{command}` does not do the same after the migration." in done.err
    assert "Line 3 of the output before: from tensorrtserver.api import " in done.err
    assert "Line 3 of the output after: " in done.err
    assert "Migrated files that it read: client.py." in done.err
    assert done.err.endswith("Nothing is written.\n")
    assert "A second run" not in done.err
    assert script.read_text("utf-8") == text
    assert len(list(folder.path.iterdir())) == 2


def test_other_status_is_not_written(folder: Folder) -> None:
    """A program that ends with another status is not written. Its traceback names its own path."""
    text = CONTEXT + "assert 'server' '.api' in open(__file__).read(), 'not any more'\n"
    script = folder.write("client.py", text)
    done = folder.migrate(f"{PYTHON} client.py")
    assert done.status == 4
    assert "Status before: 0; after: 1." in done.err
    assert "AssertionError: not any more" in done.err
    assert "tritonclient-shim-prove-" not in done.err
    assert script.read_text("utf-8") == text


def test_output_that_varies(folder: Folder) -> None:
    """A command that prints something else each time proves nothing, and the message says so."""
    folder.write("client.py", CONTEXT + "import os\nprint(os.urandom(9))\n")
    done = folder.migrate(f"{PYTHON} client.py")
    assert done.status == 4
    assert "A second run before the migration differs as well" in done.err


def test_command_that_fails_before(folder: Folder) -> None:
    """A command that does not work before the migration proves nothing."""
    folder.write("client.py", CONTEXT)
    done = folder.migrate(f"{PYTHON} clients.py")
    assert done.status == 4
    assert "ends with status 2 before the migration; expected a command that works" in done.err
    assert "can't open file" in done.err


def test_command_that_reads_no_migrated_file(folder: Folder) -> None:
    """A command that runs none of the migrated files proves nothing."""
    script = folder.write("client.py", CONTEXT)
    done = folder.migrate(f"{PYTHON} -c 'print(1)'")
    assert done.status == 4
    assert "no command of --prove has read a file that migrate changes (client.py" in done.err
    assert script.read_text("utf-8") == CONTEXT


def test_files_that_no_command_read(folder: Folder) -> None:
    """Several commands are run. The report names the migrated files that none of them has read."""
    for name in ("one.py", "two.py", "three.py"):
        folder.write(name, CONTEXT)
    done = folder.migrate(f"{PYTHON} one.py", f"{PYTHON} two.py", more=("--format", "json"))
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out)
    assert document["proven"]["unread"] == ["three.py"]
    assert len(document["proven"]["commands"]) == 2


def test_time_limit(folder: Folder) -> None:
    """A command that does not end in time is ended, with its processes. Nothing is written."""
    script = folder.write("client.py", CONTEXT + "import time\ntime.sleep(600)\n")
    done = folder.migrate(f"{PYTHON} client.py; true", more=("--prove-timeout", "2"))
    assert done.status == 4
    assert "did not end within 2 s" in done.err and "--prove-timeout" in done.err
    assert "time.sleep" in script.read_text("utf-8") and "tensorrtserver" in script.read_text()


def test_the_copy_stands_for_the_project(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command finds the copy through its folder, PYTHONPATH, absolute paths and links."""
    (tmp_path / "elsewhere.txt").write_text("elsewhere", "utf-8")
    folder.write("lib/work.py", CONTEXT + "PLACE = __file__\n")
    folder.write("data/own.txt", "own")
    os.symlink("../data/own.txt", folder.path / "lib" / "relative.txt")
    os.symlink(folder.path / "data" / "own.txt", folder.path / "lib" / "absolute.txt")
    os.symlink("../../elsewhere.txt", folder.path / "lib" / "outside.txt")
    os.mkfifo(folder.path / "pipe")
    program = (
        "import os, sys, work\n"
        "folder = os.path.dirname(work.PLACE)\n"
        "for name in ('relative', 'absolute', 'outside'):\n"
        "    print(open(os.path.join(folder, f'{name}.txt')).read())\n"
        "real = os.path.realpath(os.path.join(folder, 'absolute.txt'))\n"
        "print(os.path.dirname(os.getcwd()) == os.path.dirname(folder))\n"
        "print(real.startswith(os.path.dirname(folder)), os.environ['PWD'] == os.getcwd())\n"
        "open('written.txt', 'x').close()\n"
    )
    folder.write("bin/main.py", program)
    monkeypatch.setenv("PYTHONPATH", str(folder.path / "lib"))
    monkeypatch.chdir(folder.path / "bin")
    folder.capsys.readouterr()
    run = f"{PYTHON} {folder.path}/bin/main.py > ../out.txt"
    command = f"{run} && cat ../out.txt && ! grep -q False ../out.txt"
    assert main(["migrate", "--write", "--prove", command, "../lib"]) == 0
    assert "status and output are the same" in folder.capsys.readouterr().out
    assert not (folder.path / "out.txt").exists() and not (folder.path / "bin/written.txt").exists()


def test_file_outside_of_the_project(folder: Folder, tmp_path: Path) -> None:
    """A file that the copy does not have cannot be proven. The message names the folder."""
    other = tmp_path / "other.py"
    other.write_text(CONTEXT, "utf-8")
    status = main(["migrate", "--write", "--prove", "true", str(other)])
    assert status == 4
    err = folder.capsys.readouterr().err
    assert f"{other} is not below {folder.path}, the folder that --prove copies" in err


def test_home_is_not_copied(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder is not copied: --prove needs the folder of a program."""
    monkeypatch.setenv("HOME", str(folder.path))
    folder.write("client.py", CONTEXT)
    done = folder.migrate(f"{PYTHON} client.py")
    assert done.status == 4
    assert "expected the folder of a program" in done.err


def test_prove_needs_write(folder: Folder) -> None:
    """--prove without --write is wrong usage."""
    assert main(["migrate", "--prove", "true", "."]) == 2
    assert "--prove needs --write; add it" in folder.capsys.readouterr().err


def test_interrupt_ends_the_command(folder: Folder, tmp_path: Path) -> None:
    """Ctrl-C ends the command, removes the copy, and writes nothing."""
    mark = tmp_path / "mark"
    waits = f"open({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    script = folder.write("client.py", f"{CONTEXT}import os, time\n{waits}")
    process = started(folder.path, "migrate", "--write", "--prove", f"{PYTHON} client.py", ".")
    while not (mark.exists() and mark.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    child = int(mark.read_text())
    copy = Path(os.readlink(f"/proc/{child}/cwd"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not copy.exists()
    assert not _is_running(child)
    assert "sleep" in script.read_text("utf-8") and "tensorrtserver" in script.read_text("utf-8")


def _is_running(process: int) -> bool:
    """True if a process exists that has not ended."""
    try:
        status = Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
