"""Model versions: text at a v2 server, numbers in v1."""

from __future__ import annotations

import re

#: v1's number for "the latest", also of a version that has no number.
LATEST = -1

#: The versions that v1 knew: names of folders, numbers of at most 64 bits.
_NUMBER = re.compile(r"[0-9]{1,19}")
_LARGEST = 2**63 - 1


def number_of(version: str) -> int:
    """Version as a v2 server writes it → v1's number; -1 for what is no number.

    KServe v2 allows any text, such as ``v2.0``, and none at all. Both become -1, by which v1
    asked for the latest version: a context made with what a result or a status told finds a
    version of that model, where 0 would find none.
    """
    if not _NUMBER.fullmatch(version):
        return LATEST
    number = int(version)
    return number if number <= _LARGEST else LATEST
