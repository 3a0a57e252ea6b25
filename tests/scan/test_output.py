"""The output of ``tritonclient-shim scan`` in each format, and its exit status."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.cli_scripts import shim
from tests.scan.scan_runs import CONTEXT, RUN, STAR, Scanner
from tritonclient_shim.cli.scan import FORMATS
from tritonclient_shim.registry import ENTRIES

RUN_LINE = "a.py:4:6: TS051 tensorrtserver.api.InferContext.run (automatic with --unsafe)"


def test_text(scan: Scanner) -> None:
    """Text has place, id, symbol and source of each use, each successor once, then the totals."""
    scan.write("a.py", CONTEXT + "if x:\n\tx = " + RUN + "x = " + RUN)
    done = scan("a.py")
    lines = done.out.splitlines()
    start = lines.index(RUN_LINE)
    assert lines[start + 1] == "    x = c.run(i, o)"
    assert done.out.count(ENTRIES["TS051"].successor) == 1
    assert f"\n  TS051  {ENTRIES['TS051'].successor}\n" in done.out
    assert "4 places use 3 legacy symbols and usage patterns; " in done.out
    assert " rewrites 4 of them. 1 file read.\nNext: `tritonclient-shim guide " in done.out
    assert (done.status, done.err) == (1, "")


OPTIONS = {
    "automatic": "ServerHealthContext('u:1', ProtocolType.GRPC)\n",
    "automatic with --unsafe": "ServerHealthContext('u:1', int(p))\n",
    "by hand": "f'{ServerHealthContext(1, 1)}'\n",
}


@pytest.mark.parametrize("how", OPTIONS)
def test_options_of_migrate(scan: Scanner, how: str) -> None:
    """Each use has the fewest options with which `migrate` rewrites it. They do rewrite it."""
    scan.write("a.py", STAR + OPTIONS[how])
    (line, *_) = [x for x in scan("a.py").out.splitlines() if ": TS0" in x and ":1:1: " not in x]
    assert line.endswith(f" ({how})")
    options = how.partition(" with ")[2].split()
    done = scan.captured("migrate", "--write", *options, "a.py")
    assert (done.status == 0) is (how != "by hand"), done.out


@pytest.mark.parametrize("format", FORMATS)
def test_unreadable_files_are_told_in_each_format(scan: Scanner, format: str) -> None:
    """The uses of readable files are printed. An unreadable file sets status 3."""
    scan.write("a.py", "def broken(:  # tensorrtserver\n")
    scan.write("b.py", STAR)
    done = scan(".", "--format", format)
    assert done.status == 3
    assert "./" not in done.out
    assert "a.py: line 1: " in done.err
    assert "TS001" in done.out and "b.py" in done.out
    if format == "json":
        (reason,) = json.loads(done.out)["files"]["unreadable"]
        assert json.loads(done.out)["files"]["read"] == 1
        assert "a.py: line 1: " in reason
    elif format == "sarif":
        (invocation,) = json.loads(done.out)["runs"][0]["invocations"]
        assert invocation["executionSuccessful"] is False
        (note,) = invocation["toolExecutionNotifications"]
        assert "a.py: line 1: " in note["message"]["text"]
    else:
        assert "1 file read, 1 could not be read." in done.out


def test_file_name_that_is_no_utf8(scan: Scanner) -> None:
    """In SARIF a file name has the bytes that it has on the disk."""
    folder = os.fsencode(scan.folder)
    for name, text in ((b"\xe4.py", STAR), (b"\xe5.py", "def f(:  # tensorrtserver\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    done = shim(scan.folder, "scan", ".", "--format", "sarif")
    assert done.returncode == 3
    (run,) = json.loads(done.stdout)["runs"]
    (place,) = [x["locations"][0]["physicalLocation"] for x in run["results"]]
    assert place["artifactLocation"]["uri"] == "%E4.py"
    assert json.dumps(run, ensure_ascii=False).encode("utf-8")


def test_missing_file(scan: Scanner) -> None:
    """A file that does not exist is named."""
    done = scan("a.py")
    assert (done.status, done.err) == (
        3,
        "tritonclient-shim scan: a.py: No such file or directory\n",
    )


def test_python_2_is_reported(scan: Scanner) -> None:
    """A Python 2 source is reported with line, Python's reason, and what was expected."""
    scan.write("a.py", STAR + "print 'old'\n")
    done = scan("a.py")
    assert "a.py: line 2: Missing parentheses in call to 'print'" in done.err
    assert done.err.endswith("; expected Python 3\n")


def test_nothing_found(scan: Scanner) -> None:
    """Without a use, scan says so. Without a file, it prints the number 0."""
    scan.write("a.py", "x = 1\n")
    assert scan("a.py").out == "No use to report. 1 file read.\n"
    (scan.folder / "empty").mkdir()
    done = scan("empty")
    assert (done.status, done.out) == (0, "No use to report. 0 files read.\n")
    assert "no file to read; expected .py, .pyw or .ipynb in the folders" in done.err


def test_no_such_id(scan: Scanner) -> None:
    """An unknown id is an error, with the command that lists all ids."""
    done = scan("--only", "TS999", ".")
    assert done.status == 2
    assert "`tritonclient-shim explain tensorrtserver` lists" in done.err
    listed = shim(scan.folder, "explain", "tensorrtserver")
    assert listed.returncode == 0
    assert "TS051" in listed.stdout


def test_only_is_a_list(scan: Scanner) -> None:
    """--only takes comma-separated ids."""
    scan.write("a.py", CONTEXT + RUN)
    assert scan.places("a.py", "--only", "TS001, ts051") == ["a.py:1:TS001", "a.py:3:TS051"]


def test_a_file_counts_once(scan: Scanner) -> None:
    """A file is read once, also if it is named twice, in a named folder, or linked."""
    scan.write("src/a.py", STAR)
    (scan.folder / "src" / "b.py").symlink_to("a.py")
    document = scan.document("src/a.py", "./src/a.py", "src", str(scan.folder))
    assert [use["file"] for use in document["uses"]] == ["src/a.py"]
    assert document["files"]["read"] == 1


@pytest.mark.parametrize("inside", ["", "d" * 150])
def test_folder_that_cannot_be_read(
    scan: Scanner, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be listed is reported like an unreadable file."""
    scan.write(os.path.join(inside, "a.py"), STAR)
    here = os.open(os.path.join(scan.folder, inside), os.O_RDONLY)
    for _ in range(20):  # a path longer than the system allows
        os.mkdir("n" * 250, dir_fd=here)
        inner = os.open("n" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    monkeypatch.chdir(scan.folder / inside)
    done = scan(".")
    assert done.status == 3
    assert done.err.endswith("n: File name too long\n")
    assert "1 file read, 1 could not be read." in done.out


def test_letters_that_the_terminal_cannot_show(scan: Scanner) -> None:
    """On an ASCII terminal, other letters of a source are escaped."""
    scan.write("a.py", CONTEXT + "c.run('ä', o)\n")
    done = shim(scan.folder, "scan", "a.py", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, "")
    assert r"    c.run('\xe4', o)" in done.stdout


EXCLUDED = {
    "name of a folder": ("vendor", ["src/a.py", "src/a_pb2.py"]),
    "name of a file": ("a.py", ["src/a_pb2.py"]),
    "pattern": ("*_pb2.py", ["src/a.py", "src/vendor/a.py", "vendor/a.py"]),
    "path of a folder": ("src/vendor", ["src/a.py", "src/a_pb2.py", "vendor/a.py"]),
    "pattern of paths": ("*/vendor/*", ["src/a.py", "src/a_pb2.py", "vendor/a.py"]),
    "from here": ("./vendor", ["src/a.py", "src/a_pb2.py", "src/vendor/a.py"]),
    "several": ("vendor, *_pb2.py", ["src/a.py"]),
    "everything": ("*", []),
}


@pytest.mark.parametrize("name", EXCLUDED)
@pytest.mark.parametrize("absolute", [False, True])
def test_exclude(scan: Scanner, name: str, absolute: bool) -> None:
    """A name fits files and folders anywhere. With a / it is a path from the working directory."""
    for path in ("src/a.py", "src/a_pb2.py", "src/vendor/a.py", "vendor/a.py"):
        scan.write(path, STAR)
    patterns, expected = EXCLUDED[name]
    folder = str(scan.folder) if absolute else "."
    uses = scan.places(folder, "--exclude", patterns)
    assert [use.partition(":")[0] for use in uses] == expected
