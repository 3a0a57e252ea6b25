"""A baseline hides known uses, also after they move within their files."""

from __future__ import annotations

import json

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


def test_unreadable_files_keep_their_status(known: Scanner) -> None:
    """A baseline has the uses of readable files. Unreadable files set status 3."""
    known.write("src/b.py", "def broken(:  # tensorrtserver\n")
    done = known("src", "--write-baseline", "known.json")
    assert done.status == 3
    assert "1 file read, 1 could not be read." in done.out


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
