"""Room in /dev/shm, which Triton's Python backend needs and containers have little of."""

from __future__ import annotations

import os

from testbed.missing import MissingPrerequisite

FOLDER = "/dev/shm"


def require(needed: int, folder: str = FOLDER) -> None:
    """Raise MissingPrerequisite unless ``needed`` MiB are free."""
    try:
        status = os.statvfs(folder)
    except OSError as problem:
        raise MissingPrerequisite(
            f"The servers need {needed} MiB of shared memory in {folder}, which cannot be used: "
            f"{problem}. Mount one: mount -t tmpfs tmpfs {folder}"
        ) from problem
    free = status.f_bavail * status.f_frsize >> 20
    if free < needed:
        raise MissingPrerequisite(
            f"The servers need {needed} MiB of shared memory, and {folder} has {free} MiB free. "
            f"Give it more: docker run --shm-size=1g, or mount -o remount,size=1g {folder}; "
            f"`ls -l {folder}` shows what is left there by others."
        )
