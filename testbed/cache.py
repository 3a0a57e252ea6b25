"""The folder of everything that the testbed makes: the servers' environments, an own Python."""

from __future__ import annotations

import os
import re
from pathlib import Path

from testbed.missing import MissingPrerequisite

_UNSAFE = re.compile(r"[^\w@%+=:,./~-]")  # the backend puts paths into a shell command unquoted


def cache_folder() -> Path:
    """``.testbed/`` at the repository root, or what the variable ``TESTBED_CACHE`` names."""
    default = Path(__file__).resolve().parents[1] / ".testbed"
    return Path(os.environ.get("TESTBED_CACHE") or default).resolve()


def writable_cache_folder() -> Path:
    """The folder, made and ignored by git; raises MissingPrerequisite where that cannot be."""
    cache = cache_folder()
    if _UNSAFE.search(str(cache)):
        raise MissingPrerequisite(
            f"The server cannot run from {str(cache)!r}: its Python backend needs a path without "
            "spaces and quotes. Name another folder in the variable TESTBED_CACHE."
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        (cache / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as problem:
        raise MissingPrerequisite(
            f"Cannot write to {cache}, where the server environment belongs: {problem}. "
            "Name a folder of yours in the variable TESTBED_CACHE."
        ) from problem
    return cache
