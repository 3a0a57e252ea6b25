"""What a walk of folders meets: pipes, links, files in other encodings."""

from __future__ import annotations

import os

import pytest

from tests.cli.cli_scripts import shim
from tests.migrate.sources_migrated import run
from tests.scan.scan_runs import CONTEXT, STAR, Scanner
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.plan import FilePlan, plan_file

COMMANDS = (("scan",), ("migrate", "--check"))
#: It needs no server.
SCRIPT = "from tensorrtserver.api import ServerHealthContext, ProtocolType\n"
HEALTH = f"{SCRIPT}ServerHealthContext('localhost:8001', ProtocolType.GRPC)\nprint('ran')\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_named_pipe(scan: Scanner, command: tuple[str, ...]) -> None:
    """A named pipe in a folder is left out, also if a file beside it imports it."""
    scan.write("a.py", f"from p import *\nimport p\n{CONTEXT}")
    os.mkfifo(scan.folder / "p.py")
    done = shim(scan.folder, *command, ".")
    assert (done.returncode, done.stderr) == (1, "")
    assert "TS050" in done.stdout and "1 file read" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_link_to_nowhere(scan: Scanner, command: tuple[str, ...]) -> None:
    """A link without a target, such as an editor's lock, is left out."""
    scan.write("a.py", "print(1)\n")
    (scan.folder / ".#a.py").symlink_to("user@host.1234")
    (scan.folder / "gone.py").symlink_to("nowhere.py")
    done = scan.captured(*command, ".")
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_link_to_nowhere_that_is_named(scan: Scanner, command: tuple[str, ...]) -> None:
    """A link without a target that the user names is a file that does not exist."""
    (scan.folder / "gone.py").symlink_to("nowhere.py")
    done = scan.captured(*command, "gone.py")
    assert done.status == 3
    assert "gone.py: No such file or directory" in done.err


def test_pipe_cannot_be_migrated(scan: Scanner) -> None:
    """`migrate` refuses a pipe that the user names: it could not replace it."""
    os.mkfifo(scan.folder / "p.py")
    scan.write("a.py", CONTEXT)
    done = shim(scan.folder, "migrate", "--check", "p.py", "a.py")
    assert done.returncode == 3
    assert "p.py: is no regular file; expected one that can be replaced" in done.stderr
    assert "TS050" in done.stdout


def test_linked_script_still_runs(scan: Scanner) -> None:
    """A link to a file of another folder is left, and named. Both still run."""
    target = scan.write("lib/ask.py", HEALTH)
    (scan.folder / "bin").mkdir()
    link = scan.folder / "bin" / "ask.py"
    link.symlink_to("../lib/ask.py")
    done = scan.captured("migrate", "--write", "bin")
    assert done.status == 3
    assert "bin/ask.py: is a link to lib/ask.py; expected the file itself; " in done.err
    assert target.read_text("utf-8") == HEALTH
    for script in (target, link):
        assert run(script).output.endswith("ran\n")


def test_link_beside_its_target(scan: Scanner) -> None:
    """Of a file and a link to it, the file is read, and the link is not named."""
    scan.write("b.py", HEALTH)
    (scan.folder / "a.py").symlink_to("b.py")
    assert scan.places(".", "--only", "TS020") == ["b.py:2:TS020"]
    done = scan.captured("migrate", "--write", ".")
    assert (done.status, done.err) == (0, "")
    assert os.readlink(scan.folder / "a.py") == "b.py"
    assert run(scan.folder / "a.py").output.endswith("ran\n")


@pytest.mark.parametrize("how", ["", "--write", "--check"])
def test_encoding_that_a_file_does_not_declare(scan: Scanner, how: str) -> None:
    """One file in Latin-1 does not keep the others from being migrated."""
    scan.write("a.py", CONTEXT)
    (scan.folder / "b.py").write_bytes("x = 'ä'\n".encode("latin-1"))
    (scan.folder / "c.py").write_bytes(f"{STAR}x = 'ä'\n".encode("latin-1"))
    done = scan.captured("migrate", *filter(None, [how]), ".")
    assert done.status == 3
    assert "c.py: 'utf-8' codec can't decode byte" in done.err
    assert "migrate: b.py" not in done.err
    assert "a.py:2:5: TS050 " in done.out


@pytest.mark.parametrize("format", ["text", "json", "sarif"])
def test_bug_of_the_rules(scan: Scanner, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """A file that makes a rule fail is named; its uses and other files are reported: status 3."""

    def fails(facts: FileFacts) -> FilePlan:
        if facts.source.path == "b.py":
            raise KeyError("no such key")
        return plan_file(facts)

    monkeypatch.setattr("tritonclient_shim.migrate.files.plan_file", fails)
    for name in ("a.py", "b.py", "c.py"):
        scan.write(name, CONTEXT)
    done = scan(".", "--format", format)
    assert done.status == 3
    assert "b.py: a bug of scan" in done.err and "KeyError: 'no such key'" in done.err
    assert scan.places(".", "--only", "TS050") == [f"{x}.py:2:TS050" for x in "abc"]


def test_bug_of_the_command(scan: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash of a command is no status 1, which says that uses were found."""
    monkeypatch.setattr("tritonclient_shim.cli.scan._render", None)
    scan.write("a.py", "x = 1\n")
    done = scan("a.py")
    assert done.status == 70
    assert "TypeError" in done.err
    assert "scan: this is a bug; please report it with the lines above" in done.err
