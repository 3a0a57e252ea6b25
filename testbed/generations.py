"""The versions of Triton that the package index has, and which of them is started."""

from __future__ import annotations

import os
from dataclasses import dataclass

from testbed.interpreters import PYTHONS
from testbed.missing import MissingPrerequisite

VARIABLE = "TESTBED_TRITON"


@dataclass(frozen=True)
class Generation:
    """A version of nvidia-pytriton, that of its Triton, the Pythons of its models, and flags."""

    version: str
    triton: str
    pythons: tuple[str, ...] = PYTHONS
    flags: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The requirement for pip."""
        return f"nvidia-pytriton=={self.version}"


GENERATIONS = {
    one.version: one
    for one in (
        # One stub of the Python backend, for Python 3.8; and on a busy machine three of four starts
        # ended with a lock_exception, unless the models were loaded one after the other.
        Generation("0.2.0", "2.33", ("3.8",), ("--model-load-thread-count=1",)),
        Generation("0.4.2", "2.39", ("3.11", "3.10", "3.9", "3.8")),
        Generation("0.5.14", "2.51"),  # the very binary of 0.7.0
        Generation("0.7.0", "2.51"),
    )
}
NEWEST = GENERATIONS["0.7.0"]


def chosen() -> Generation:
    """The one that the variable names, or the newest; raises MissingPrerequisite."""
    version = os.environ.get(VARIABLE) or NEWEST.version
    if version not in GENERATIONS:
        raise MissingPrerequisite(
            f"{VARIABLE} is {version!r}, and no such version of nvidia-pytriton is known to run "
            f"here. Name one of these: {', '.join(GENERATIONS)}."
        )
    return GENERATIONS[version]
