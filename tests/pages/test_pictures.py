"""The pictures of the pages are drawn from what they show, and are current."""

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
    """Each is what scripts/pictures draws."""
    command = [sys.executable, str(ROOT / "scripts" / "pictures"), "--check"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_chart_shows_the_table() -> None:
    """Every workload of docs/costs.md is there, with both of its ratios."""
    table = text("docs/costs.md").partition("| workload |")[2].partition("\n\n")[0]
    shown = words("benchmarks.svg")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) > 10
    for row in rows:
        after = shown[shown.index(row[0]) + 1 :]
        wanted = [value for value in (row[1], row[4]) if value != "–"]
        assert after[: len(wanted)] == wanted


def test_the_recorded_demo_is_of_these_scripts() -> None:
    """Each feature of the demo is in the recording, in order; the picture has its beginning."""
    recording = (PICTURES / "demo.txt").read_text("utf-8")
    headings = re.findall(r"^--- (.*)$", recording, re.MULTILINE)
    assert headings == [program.says for program in PROGRAMS]
    shown = [line for line in words("demo.svg") if line.startswith("--- ")]
    assert shown == [f"--- {heading}" for heading in headings[: len(shown)]] != []
