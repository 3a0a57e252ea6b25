"""The pictures of the pages are up to date."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from demo.programs import PROGRAMS
from tests.pages.blocks import ROOT, text

PICTURES = ROOT / "docs" / "pictures"


def words(name: str) -> list[str]:
    """Return the texts in a picture."""
    tree = ElementTree.parse(PICTURES / name)
    return [node.text or "" for node in tree.iter("{http://www.w3.org/2000/svg}text")]


def test_pictures_are_current() -> None:
    """Each picture is as scripts/pictures draws it."""
    command = [sys.executable, str(ROOT / "scripts" / "pictures"), "--check"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_chart_shows_the_table() -> None:
    """The chart has every workload of docs/costs.md, with both ratios."""
    table = text("docs/costs.md").partition("| workload |")[2].partition("\n\n")[0]
    shown = words("benchmarks.svg")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) > 10
    for row in rows:
        after = shown[shown.index(row[0]) + 1 :]
        wanted = [value for value in (row[1], row[4]) if value != "–"]
        assert after[: len(wanted)] == wanted


def test_the_recorded_demo_is_of_these_scripts() -> None:
    """The recording has each feature of the demo in order. The picture has the first features."""
    recording = (PICTURES / "demo.txt").read_text("utf-8")
    headings = re.findall(r"^--- (.*)$", recording, re.MULTILINE)
    assert headings == [program.says for program in PROGRAMS]
    shown = [line for line in words("demo.svg") if line.startswith("--- ")]
    assert shown == [f"--- {heading}" for heading in headings[: len(shown)]] != []
