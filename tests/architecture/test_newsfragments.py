"""News fragments can be read by towncrier (newsfragments/README.md)."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT

KINDS = ("feature", "bugfix", "doc", "removal", "misc")
NAME = re.compile(rf"\+?[\w-]+\.({'|'.join(KINDS)})(\.\d+)?\.md")


def test_fragments_are_named_and_filled() -> None:
    """Each file is ``<issue or name>.<kind>.md`` and says something; there is at least one."""
    folder = ROOT / "newsfragments"
    fragments = sorted(path for path in folder.iterdir() if path.name != "README.md")
    assert fragments
    assert not [path.name for path in fragments if not NAME.fullmatch(path.name)]
    assert not [path.name for path in fragments if not path.read_text("utf-8").strip()]


def test_kinds_are_those_of_the_configuration() -> None:
    """The kinds accepted here are exactly those that pyproject.toml gives towncrier."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert tuple(re.findall(r'type\]\]\ndirectory = "(\w+)"', text)) == KINDS
