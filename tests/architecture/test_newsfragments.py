"""towncrier can read the news fragments, and each version has news (newsfragments/README.md)."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.source import ROOT

KINDS = ("feature", "bugfix", "doc", "removal", "misc")
NAME = re.compile(rf"\+[a-z][\w-]*\.({'|'.join(KINDS)})\.md")
TRACKER = re.compile(r"\b[Ii]ssue \d|(?<!\w)#\d")  # no tracker is public
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def complaints(root: Path) -> list[str]:
    """Return the errors in the news of a checkout."""
    folder = root / "newsfragments"
    texts = {
        path.name: path.read_text("utf-8")
        for path in sorted(folder.iterdir())
        if path.name != "README.md"
    }
    result = [f"{name}: not named +<name>.<kind>.md" for name in texts if not NAME.fullmatch(name)]
    result += [f"{name}: empty" for name, text in texts.items() if not text.strip()]
    result += [f"{name}: cites a tracker" for name, text in texts.items() if TRACKER.search(text)]
    (version,) = VERSION.findall((root / "tritonclient_shim/__init__.py").read_text("utf-8"))
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not texts and f"\n## {version} (" not in changelog:
        result.append(f"neither a fragment nor CHANGELOG.md has news of {version}")
    return result


def test_news_are_in_order() -> None:
    """Each fragment has its format and a text.

    Each version has news in a fragment or the change log.
    """
    assert complaints(ROOT) == []
