"""A baseline hides known uses, also after they move within their files."""

from __future__ import annotations

import json
import resource

import pytest

from tests.scan.scan_runs import CONTEXT, RUN, STAR, Scanner


@pytest.fixture
def known(scan: Scanner) -> Scanner:
    """Return a folder with two uses of TS051 in a file, and a baseline of them."""
    scan.write("src/a.py", CONTEXT + RUN + RUN)
    done = scan("src", "--write-baseline", "known.json")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("The uses are written to known.json. 4 places use ")
    return scan


def test_known_uses_are_hidden(known: Scanner) -> None:
    """Uses of the baseline are not reported."""
    done = known("src", "--baseline", "known.json")
    assert (done.status, done.err) == (0, "")
    assert done.out == "No use to report. 1 file read.\n"


def test_moved_lines_are_known(known: Scanner) -> None:
    """A known use may change line and indentation, but not text, id or file."""
    known.write("src/a.py", "import os\n\n" + CONTEXT + "if x:\n    " + RUN + "    " + RUN)
    assert known.places("src", "--baseline", "known.json") == []
    known.write("src/b.py", CONTEXT + RUN)
    assert known.places("src", "--baseline", "known.json", "--only", "TS051") == [
        "src/b.py:3:TS051"
    ]


def test_uses_are_counted(known: Scanner) -> None:
    """One more use with a known line is reported."""
    known.write("src/a.py", CONTEXT + RUN + RUN + RUN)
    done = known("src", "--baseline", "known.json")
    assert done.status == 1
    assert "src/a.py:5:1: TS051" in done.out
    assert "src/a.py:4:1" not in done.out


def test_the_file_is_sorted(known: Scanner) -> None:
    """Equal uses make equal files: JSON with counts, sorted by file, id and line."""
    known.write("src/0.py", STAR)
    known("src/a.py", "src/0.py", "--write-baseline", "known.json")
    document = json.loads((known.folder / "known.json").read_text("utf-8"))
    assert document["version"] == 1
    assert [tuple(use.values()) for use in document["uses"]] == [
        ("src/0.py", "TS001", STAR.strip(), 1),
        ("src/a.py", "TS001", STAR.strip(), 1),
        ("src/a.py", "TS050", "c = InferContext(u, p, m)", 1),
        ("src/a.py", "TS051", RUN.strip(), 2),
    ]


def test_from_another_folder(known: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are relative to the baseline's folder. The working directory does not matter."""
    monkeypatch.chdir(known.folder / "src")
    assert known("a.py", "--baseline", "../known.json").status == 0


def test_no_baseline_from_failures(known: Scanner) -> None:
    """If a file cannot be read, no baseline is written: it would lack the uses of the file."""
    before = (known.folder / "known.json").read_bytes()
    known.write("src/b.py", "def broken(:  # tensorrtserver\n")
    known.write("src/c.py", CONTEXT)
    done = known("src", "--write-baseline", "known.json")
    assert (done.status, done.out) == (3, "")
    assert "src/b.py: line 1: " in done.err
    assert "known.json is not written: it would lack the uses of the files above" in done.err
    assert (known.folder / "known.json").read_bytes() == before


def test_no_baseline_from_nothing(known: Scanner) -> None:
    """If no file is read, no baseline is written. Files without uses give an empty one."""
    before = (known.folder / "known.json").read_bytes()
    (known.folder / "empty").mkdir()
    done = known("empty", "--write-baseline", "known.json")
    assert (done.status, done.out) == (2, "")
    assert "known.json is not written: no file was read" in done.err
    assert (known.folder / "known.json").read_bytes() == before
    known.write("empty/a.py", "x = 1\n")
    assert known("empty", "--write-baseline", "known.json").status == 0
    assert json.loads((known.folder / "known.json").read_text("utf-8"))["uses"] == []


def test_baseline_is_replaced(known: Scanner) -> None:
    """A baseline that has no room on the disk keeps its content. A link to it stays a link."""
    before = (known.folder / "known.json").read_bytes()
    (known.folder / "link.json").symlink_to("known.json")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        done = known("src", "--write-baseline", "link.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.status == 2
    assert "the baseline link.json cannot be written: File too large" in done.err
    assert (known.folder / "known.json").read_bytes() == before
    known.write("src/b.py", CONTEXT)
    assert known("src", "--write-baseline", "link.json").status == 0
    assert b"src/b.py" in (known.folder / "known.json").read_bytes()
    names = sorted(path.name for path in known.folder.iterdir())
    assert names == ["known.json", "link.json", "src"]


def test_file_in_a_linked_folder(known: Scanner) -> None:
    """A use is known by the real place of its file, whatever link leads there."""
    (known.folder / "link").symlink_to("src")
    assert known("link", "--baseline", "known.json").status == 0


@pytest.mark.parametrize("text", [None, "[" * 50_000, "[]", '{"version": 2, "uses": []}'])
def test_no_baseline(known: Scanner, text: str | None) -> None:
    """A file that is no baseline is an error, with the command that writes a baseline."""
    if text is not None:
        known.write("other.json", text)
    done = known("src", "--baseline", "other.json")
    assert (done.status, done.out) == (2, "")
    remedy = "tritonclient-shim scan --write-baseline other.json "
    assert "other.json is no baseline (" in done.err
    assert f"expected one that was written with: {remedy}PATH" in done.err
    assert known(*remedy.split()[2:], "src").status == 0
    assert known("src", "--baseline", "other.json").status == 0


def test_impossible_place(known: Scanner) -> None:
    """A baseline that cannot be written is an error that says what to do."""
    done = known("src", "--write-baseline", "nowhere/known.json")
    assert (done.status, done.out) == (2, "")
    assert "the baseline nowhere/known.json cannot be written: No such file" in done.err
    assert "name a file in a folder that exists" in done.err
