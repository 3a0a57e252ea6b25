"""towncrier can read the news fragments, and each version has news (newsfragments/README.md)."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT

KINDS = ("feature", "bugfix", "doc", "removal", "misc")
NAME = re.compile(rf"\+[a-z][\w-]*\.({'|'.join(KINDS)})\.md")
TRACKER = re.compile(r"\b[Ii]ssue \d|(?<!\w)#\d")  # no tracker is public
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def test_news_are_in_order() -> None:
    """Each fragment has its form and a text. Each version has news here or in CHANGELOG.md."""
    folder = ROOT / "newsfragments"
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("[!R]*")}
    assert [name for name in texts if not NAME.fullmatch(name)] == []
    assert [name for name, text in texts.items() if not text.strip() or TRACKER.search(text)] == []
    (version,) = VERSION.findall((ROOT / "tritonclient_shim/__init__.py").read_text("utf-8"))
    assert texts or f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text("utf-8")
