"""The files that ``migrate --write`` replaces, and the diff that ``patch`` applies."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR
from tritonclient_shim.cli import main
from tritonclient_shim.migrate import writing
from tritonclient_shim.migrate.files import Migrated

SOURCE = f"{STAR}{CONTEXT}r = ctx.run(i,  o)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with one file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(SOURCE, "utf-8")
    return tmp_path


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def test_full_disk_changes_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If one text has no room on the disk, no file changes, and no file of migrate stays."""
    (folder / "b.py").write_text(f"{SOURCE}# {'x' * 20_000}\n", "utf-8")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, hard))
    try:
        assert main(["migrate", "--write", "."]) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    captured = capsys.readouterr()
    assert "b.py: cannot be written: File too large" in captured.err
    assert "0 with changes" in captured.out
    assert names(folder) == ["a.py", "b.py"]
    assert (folder / "a.py").read_text("utf-8") == SOURCE


def test_interrupt_while_files_are_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the command after all files are replaced: they may be one program."""
    (folder / "b.py").write_text(SOURCE, "utf-8")
    real = os.replace

    def replace_then_interrupt(source: str, target: str) -> None:
        real(source, target)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "replace", replace_then_interrupt)
    assert main(["migrate", "--write", "."]) == 130
    assert names(folder) == ["a.py", "b.py"]
    assert (folder / "a.py").read_text("utf-8") == (folder / "b.py").read_text("utf-8") != SOURCE


def test_file_of_the_user_with_our_name(folder: Path) -> None:
    """No file of the user is a temporary file of migrate, and no link is followed."""
    (folder / "a.py.tritonclient-shim").symlink_to("target")
    assert main(["migrate", "--write", "a.py"]) == 0
    assert os.readlink(folder / "a.py.tritonclient-shim") == "target"
    assert not (folder / "target").exists()


def test_edit_made_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that changes while migrate runs keeps the change. Nothing is written."""
    real = writing.write_files

    def edit_then_write(files: list[Migrated]) -> None:
        (folder / "a.py").write_text("x = 1\n", "utf-8")
        real(files)

    monkeypatch.setattr(writing, "write_files", edit_then_write)
    assert main(["migrate", "--write", "."]) == 3
    assert "a.py: was changed while migrate ran" in capsys.readouterr().err
    assert (folder / "a.py").read_text("utf-8") == "x = 1\n"
    assert names(folder) == ["a.py"]


def test_read_only_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A read-only file is left, and the message says what to do."""
    (folder / "a.py").chmod(0o444)
    assert main(["migrate", "--write", "."]) == 3
    assert "a.py: is read-only; expected a file that may be written" in capsys.readouterr().err
    assert names(folder) == ["a.py"]
    assert (folder / "a.py").read_text("utf-8") == SOURCE


def test_hard_links(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file with two names is left: the second name would keep the old text."""
    os.link(folder / "a.py", folder / "b.txt")
    assert main(["migrate", "--write", "."]) == 3
    assert "a.py: has 2 names (hard links)" in capsys.readouterr().err
    assert (folder / "a.py").read_text("utf-8") == SOURCE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner(folder: Path) -> None:
    """A file of another user stays that user's."""
    os.chown(folder / "a.py", 12345, 23456)
    (folder / "a.py").chmod(0o4755)
    assert main(["migrate", "--write", "."]) == 0
    status = (folder / "a.py").stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)
    assert stat.S_IMODE(status.st_mode) == 0o4755


def test_encoding_of_the_file(folder: Path) -> None:
    """A file is written in the encoding that it declares."""
    text = f"# coding: latin-1\n{SOURCE}print('ä')\n"
    (folder / "a.py").write_bytes(text.encode("latin-1"))
    assert main(["migrate", "--write", "."]) == 0
    after = (folder / "a.py").read_bytes()
    assert b"print('\xe4')\n" in after
    assert b"infer(" in after


ENDINGS = {
    "no line break at the end": SOURCE.rstrip("\n"),
    "form feed": SOURCE.replace("r =", "\x0c\nr =") + "y = '\x0c'\n",
    "line separator": SOURCE.replace("r =", "y = '\u2028'\nr ="),
    "carriage returns": SOURCE.replace("\n", "\r\n"),
    "vertical tab": SOURCE.replace("r =", "y = '\x0b \x1c'\nr ="),
}


TOOLS = {"patch": ["patch", "--binary", "-p0"], "git": ["git", "apply", "-p0"]}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ENDINGS)
def test_patch_applies_the_diff(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes], name: str, tool: str
) -> None:
    """`patch` and `git apply` make from the diff what --write writes."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    (folder / "a.py").write_bytes(ENDINGS[name].encode())
    shutil.copytree(folder, folder / "written")
    assert main(["migrate", "a.py"]) == 1
    diff = capsysbinary.readouterr().out
    done = subprocess.run(TOOLS[tool], input=diff, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert main(["migrate", "--write", "written"]) == 0
    assert (folder / "a.py").read_bytes() == (folder / "written" / "a.py").read_bytes()
