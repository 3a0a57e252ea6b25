"""Prints what may be longer than its reader wants."""

from __future__ import annotations

import os
import sys

_SIGPIPE = 128 + 13  # the status by which a shell tells of the signal


def show(text: str) -> None:
    """Print the text; where the reader has stopped, as ``head`` does, end in silence.

    Letters that standard output cannot show are printed as backslash and number.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except BrokenPipeError:
        # What Python still holds is written once more when it ends: to where that cannot fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_SIGPIPE)
