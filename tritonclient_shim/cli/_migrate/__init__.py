"""What ``tritonclient-shim migrate`` reads, writes and prints."""

from __future__ import annotations


class MigrateRefused(Exception):
    """The command line asks for something that is not there; the text says what."""
