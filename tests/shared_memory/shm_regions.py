"""Unique keys and fresh interpreters for the tests of system shared memory."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from typing import Callable, Iterator

import tensorrtserver.shared_memory as shm
from tests.own_interpreter import environment

_numbers = itertools.count()


def path_of(key: str) -> str:
    """Return the path of a key's object on Linux."""
    return "/dev/shm/" + key.lstrip("/")


def contents(key: str) -> bytes:
    """Return the bytes of a key's object, as any other process reads them."""
    with open(path_of(key), "rb") as file:
        return file.read()


@contextmanager
def fresh_keys() -> Iterator[Callable[[], str]]:
    """Yield a function that makes unique keys. Remove their objects afterwards."""
    keys: list[str] = []

    def make() -> str:
        keys.append(f"/shim_test_{os.getpid()}_{next(_numbers)}")
        return keys[-1]

    yield make
    for path in map(path_of, keys):
        if os.path.exists(path):
            os.unlink(path)


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter, all warnings shown but the deprecation notice."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def code_of(error: shm.SharedMemoryException) -> int:
    """Return v1's error code."""
    return int(error.args[0].value)
