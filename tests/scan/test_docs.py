"""docs/scan.md: its examples print the output of the page."""

from __future__ import annotations

import re
from pathlib import Path

from tests.scan.scan_runs import CONTEXT, RUN, STAR, Scanner

TEXT = (Path(__file__).parents[2] / "docs" / "scan.md").read_text("utf-8")


def test_first_example(scan: Scanner) -> None:
    """``scan`` prints the page's example: a use, its line, and its successor."""
    example = TEXT.partition("$ tritonclient-shim scan client.py\n")[2].partition("\n\n")[0]
    shown = [line[4:] for line in example.splitlines()]
    scan.write("client.py", STAR + "ctx = InferContext(u, p, m)\n" + shown[1].strip() + "\n")
    printed = scan("client.py").out.splitlines()
    assert [line for line in shown if line not in (*printed, "…")] == []


def test_commands(scan: Scanner) -> None:
    """The baseline of the page hides present uses. Its comments hide their lines."""
    scan.write("src/a.py", CONTEXT + RUN)
    commands = re.findall(r"^ +tritonclient-shim scan (.* src)$", TEXT, re.MULTILINE)
    assert [scan(*command.split()).status for command in commands] == [0, 0]
    lines = re.findall(r"^ +(.*# tritonshim: .*)$", TEXT, re.MULTILINE)
    assert len(lines) == 2
    scan.write("src/b.py", "from tensorrtserver.api import InferContext\n" + "\n".join(lines))
    assert scan.places("src/b.py") == ["src/b.py:1:TS009"]
