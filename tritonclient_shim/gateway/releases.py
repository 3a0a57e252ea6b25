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

#: docs/v1-behaviour.md §8.1: fields that were new in 1.12, and in 1.13.
_QUEUE_POLICIES = (
    "priority_levels",
    "default_priority_level",
    "default_queue_policy",
    "priority_queue_policy",
)
_PARTS_OF_COMPUTING = ("compute_input", "compute_infer", "compute_output")


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
        #: Has text the field ``data_type``? Clients until 1.11 refuse text with a field that they
        #: do not know, and later ones accept that it is missing.
        self.data_type_in_text = bool(name) and not self._until_1_11

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

    def trim_header(self, header: Any) -> None:
        """Change an InferResponseHeader."""
        if self._until_1_11:
            without_data_types(header)

    def trim_server_status(self, status: Any) -> None:
        """Change a ServerStatus."""
        if self._name:
            status.version = f"{self._name}.0"
        if not self._until_1_12:
            return
        for model in status.model_status.values():
            if self._until_1_11 and model.config.HasField("dynamic_batching"):
                _clear(model.config.dynamic_batching, _QUEUE_POLICIES)
            for version in model.version_status.values():
                for statistics in version.infer_stats.values():
                    _clear(statistics, _PARTS_OF_COMPUTING)


def without_data_types(header: Any) -> None:
    """Take the field ``data_type``, which was new in 1.12, out of an InferResponseHeader."""
    for output in header.output:
        output.ClearField("data_type")


def _clear(message: Any, fields: tuple[str, ...]) -> None:
    for field in fields:
        message.ClearField(field)
