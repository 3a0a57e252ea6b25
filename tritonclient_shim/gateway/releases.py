"""Differences between releases of v1's server, in texts and fields.

Each difference cites its section of docs/v1-behaviour.md. No other differences are known.
"""

from __future__ import annotations

import re
from typing import Any

#: The releases that can be emulated: those whose service the gateway speaks.
RELEASES = ("1.11", "1.12", "1.13", "1.14", "1.15")

#: docs/v1-behaviour.md §3.4: until 1.12 the text had no reason.
_UNKNOWN_MODEL = re.compile(
    r"Request for unknown model: '(.*)' (version \S+ )?(is not found|has no available versions|"
    "is not at ready state)"
)
#: docs/v1-behaviour.md §6.5: until 1.11 the text said "block".
_REGION_TAKEN = re.compile("shared memory region '(.*)' already in manager")


class Release:
    """A release of v1's server. Without a name: texts and fields that all clients can read.

    Each method changes a message that is about to be sent.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        number = int(name.partition(".")[2]) if name else 0
        self._until_1_11 = bool(name) and number <= 11
        self._until_1_12 = bool(name) and number <= 12
        #: True if the names of fields in JSON are ``lowerCamelCase`` (docs/v1-behaviour.md §9.1).
        self.camel_case = self._until_1_12

    def reword(self, status: Any) -> None:
        """Change the RequestStatus of a refusal."""
        if self._until_1_12:
            unknown = _UNKNOWN_MODEL.fullmatch(status.msg)
            if unknown:
                status.msg = f"Inference request for unknown model '{unknown[1]}'"
        if self._until_1_11:
            taken = _REGION_TAKEN.fullmatch(status.msg)
            if taken:
                status.msg = f"shared memory block '{taken[1]}' already in manager"

    def set_version(self, status: Any) -> None:
        """Change the version in a ServerStatus."""
        if self._name:
            status.version = f"{self._name}.0"
