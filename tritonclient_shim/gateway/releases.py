"""What v1's server said and sent differently from release to release.

Only what is known of a release is here, with the section of docs/v1-behaviour.md that says so. What
is not listed is the same for all releases, or is not known to have been different.
"""

from __future__ import annotations

import re
from typing import Any

#: The releases that can be emulated: those whose service the gateway speaks.
RELEASES = ("1.11", "1.12", "1.13", "1.14", "1.15")

#: docs/v1-behaviour.md §3.4: until 1.12 one sentence, without the reason.
_UNKNOWN_MODEL = re.compile(
    r"Request for unknown model: '(.*)' (version \S+ )?(is not found|has no available versions|"
    "is not at ready state)"
)
#: docs/v1-behaviour.md §6.5: until 1.11 a block.
_REGION_TAKEN = re.compile("shared memory region '(.*)' already in manager")


class Release:
    """One release of v1's server, or none: then what clients of every release can read.

    Each method changes the message that it is given, which is about to be sent.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        number = int(name.partition(".")[2]) if name else 0
        self._until_1_11 = bool(name) and number <= 11
        self._until_1_12 = bool(name) and number <= 12
        #: Are the names of fields in JSON ``lowerCamelCase`` (docs/v1-behaviour.md §9.1)?
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
