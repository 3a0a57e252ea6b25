"""What ``doctor`` finds."""

from __future__ import annotations

from typing import NamedTuple

OK, NOTE, WRONG = "ok", "note", "WRONG"


class Finding(NamedTuple):
    """One line: how bad, and what."""

    level: str
    text: str
