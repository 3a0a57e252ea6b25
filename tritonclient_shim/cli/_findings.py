"""A result of a check of ``tritonclient-shim doctor``."""

from __future__ import annotations

from typing import NamedTuple

OK, NOTE, WRONG = "ok", "note", "WRONG"


class Finding(NamedTuple):
    """One result of a check: ``level`` is OK, NOTE or WRONG."""

    level: str
    text: str
