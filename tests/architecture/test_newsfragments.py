"""News fragments can be read by towncrier, and each version has news (newsfragments/README.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

KINDS = ("feature", "bugfix", "doc", "removal", "misc")
NAME = re.compile(rf"\+[a-z][\w-]*\.({'|'.join(KINDS)})\.md")
TRACKER = re.compile(r"\b[Ii]ssue \d|(?<!\w)#\d")  # no tracker is public
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def complaints(root: Path) -> list[str]:
    """What is wrong with the news of a checkout."""
    folder = root / "newsfragments"
    texts = {
        path.name: path.read_text("utf-8")
        for path in sorted(folder.iterdir())
        if path.name != "README.md"
    }
    found = [f"{name}: not named +<name>.<kind>.md" for name in texts if not NAME.fullmatch(name)]
    found += [f"{name}: empty" for name, text in texts.items() if not text.strip()]
    found += [f"{name}: cites a tracker" for name, text in texts.items() if TRACKER.search(text)]
    (version,) = VERSION.findall((root / "tritonclient_shim/__init__.py").read_text("utf-8"))
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not texts and f"\n## {version} (" not in changelog:
        found.append(f"neither a fragment nor CHANGELOG.md tells the news of {version}")
    return found


def test_news_are_in_order() -> None:
    """Each fragment has its form and says something; each version's news are told somewhere."""
    assert complaints(ROOT) == []


@pytest.mark.parametrize(
    ("fragments", "released", "found"),
    [
        ({}, "0.1.0", []),  # right after a release
        ({"+next.bugfix.md": "Works."}, "0.1.0", []),
        ({"+first.feature.md": "Works."}, "", []),
        ({}, "", ["neither a fragment nor CHANGELOG.md tells the news of 0.1.0"]),
        ({}, "0.0.9", ["neither a fragment nor CHANGELOG.md tells the news of 0.1.0"]),
        ({"4.doc.md": "Told."}, "", ["4.doc.md: not named +<name>.<kind>.md"]),
        ({"+4.doc.md": "Told."}, "", ["+4.doc.md: not named +<name>.<kind>.md"]),
        ({"+new.idea.md": "Told."}, "", ["+new.idea.md: not named +<name>.<kind>.md"]),
        ({"+new.doc.md": " \n"}, "", ["+new.doc.md: empty"]),
        ({"+new.doc.md": "As issue 7 wants."}, "", ["+new.doc.md: cites a tracker"]),
        ({"+new.doc.md": "Works (#7)."}, "", ["+new.doc.md: cites a tracker"]),
    ],
)
def test_complaints(
    tmp_path: Path, fragments: dict[str, str], released: str, found: list[str]
) -> None:
    """A folder emptied by a release is in order, one that nobody filled is not; so are numbers."""
    for folder in ("newsfragments", "tritonclient_shim"):
        (tmp_path / folder).mkdir()
    (tmp_path / "newsfragments" / "README.md").touch()
    (tmp_path / "tritonclient_shim" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    section = f"\n## {released} (2026-01-01)\n" if released else ""
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n{section}", "utf-8")
    for name, text in fragments.items():
        (tmp_path / "newsfragments" / name).write_text(text, "utf-8")
    assert complaints(tmp_path) == found


def test_kinds_are_those_of_the_configuration() -> None:
    """The kinds accepted here are exactly those that pyproject.toml gives towncrier."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert tuple(re.findall(r'type\]\]\ndirectory = "(\w+)"', text)) == KINDS
