"""Prints what may be longer than its reader wants, and shows how far a long piece of work is."""

from __future__ import annotations

import os
import sys
import time
from typing import Iterator, Sequence

_SIGPIPE = 128 + 13  # the status by which a shell reports the signal
_PATIENCE = 1.0  # seconds before a progress line appears
_INTERVAL = 0.1  # seconds between two states of it
_CLEAR = "\r\033[K"


def show(text: str) -> None:
    """Print the text; end in silence if the reader has stopped, as ``head`` does.

    Letters that standard output cannot show are printed as backslash and number.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except BrokenPipeError:
        # Python writes what it still holds once more when it ends: to where that cannot fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_SIGPIPE)


def progress(files: Sequence[str], command: str) -> Iterator[str]:
    """Yield the files; where that takes longer, a terminal shows on stderr how many are done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from files
        return
    start, shown = time.monotonic(), 0.0
    try:
        for number, path in enumerate(files):
            now = time.monotonic()
            if now - start > _PATIENCE and now - shown > _INTERVAL:
                shown = now
                text = f"tritonclient-shim {command}: {number} of {len(files)} files"
                print(f"{_CLEAR}{text}", end="", file=sys.stderr, flush=True)
            yield path
    finally:
        if shown:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
