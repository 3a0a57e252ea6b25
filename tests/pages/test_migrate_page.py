"""The page about ``migrate``, which owners of programs read."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "migrate.md"
_MOST_WORDS = 20
_EXAMPLES = re.compile(r"^```.*?^```|^    .*?$", re.DOTALL | re.MULTILINE)
#: Between paragraphs, items of lists and cells of tables.
_PARTS = re.compile(r"\n\s*\n|\n(?=[-|#]|\d\. )|(?<!\\)\|")
_SENTENCES = re.compile(r"(?<=[.;:!?])\s+")


def test_sentences_are_short() -> None:
    """No sentence has more than 20 words. Code counts as one word."""
    text = re.sub(r"`[^`]*`", "code", _EXAMPLES.sub("", _PAGE.read_text("utf-8")))
    sentences = [part for item in _PARTS.split(text) for part in _SENTENCES.split(item)]
    assert [part for part in sentences if len(part.lstrip("- ").split()) > _MOST_WORDS] == []


def test_no_version_that_does_not_exist() -> None:
    """The example for pre-commit names no tag, because this project has none that fits."""
    revisions = re.findall(r"rev: (\S+)", _PAGE.read_text("utf-8"))
    assert revisions == ["main"]
