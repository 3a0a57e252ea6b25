"""What ``doctor`` finds, and how serious it is."""

from __future__ import annotations

from typing import NamedTuple

OK = "ok"
NOTE = "note"
WRONG = "WRONG"


class Finding(NamedTuple):
    """One result of a check: ``level`` is OK, NOTE or WRONG."""

    level: str
    text: str
