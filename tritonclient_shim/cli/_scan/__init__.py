"""``scan``: which files, what is left out of what they have, and how it is written."""

from __future__ import annotations

#: The names of the formats, the default first.
FORMATS = ("text", "json", "sarif")


class ScanRefused(Exception):
    """Wrong usage or configuration: the text says what was expected and what to do."""
