"""Commands whose progress a human can follow on stderr.

``python -m testbed.progress WHAT COMMAND…`` runs a command of a shell script. It prints a line at
least every few seconds.
"""

from __future__ import annotations

import selectors
import subprocess
import sys
import time
from typing import IO, Mapping, Sequence

HEARTBEAT = 5.0  # seconds of silence before a line says that the command still runs


class MissingPrerequisite(RuntimeError):
    """The machine lacks a requirement of the server. The text names it and what to do."""


def say(text: str) -> None:
    """Print a progress line."""
    print(f"[testbed] {text}", file=sys.stderr, flush=True)


def run(command: Sequence[str], what: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a command and print its lines.

    Raise MissingPrerequisite with the last lines if the command fails.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    assert process.stdout is not None
    lines = _follow(process.stdout, what)
    if process.wait() != 0:
        tail = "\n    ".join(lines[-15:])
        raise MissingPrerequisite(
            f"{what} failed (exit {process.returncode}). The command was:\n    "
            f"{' '.join(command)}\nIts last lines:\n    {tail}"
        )


def _follow(stream: IO[bytes], what: str) -> list[str]:
    started = time.monotonic()
    lines: list[str] = []
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(HEARTBEAT):
                say(f"{what}: still working ({time.monotonic() - started:.0f} s)")
                continue
            raw = stream.readline()
            if not raw:
                return lines
            lines.append(raw.decode("utf-8", "replace").rstrip())
            say(f"  {lines[-1]}")


if __name__ == "__main__":
    try:
        run(sys.argv[2:], sys.argv[1])
    except MissingPrerequisite as problem:
        sys.exit(str(problem))
