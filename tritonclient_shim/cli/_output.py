"""What commands print: texts that may be long, colours, the progress of long work."""

from __future__ import annotations

import argparse
import os
import pydoc
import shutil
import sys
import time
from typing import Callable, Iterator, Sequence

from tritonclient_shim.settings import no_color

#: The formats of reports, the default first.
FORMATS = ("text", "json", "sarif")
_SIGPIPE = 128 + 13  # the exit status that a shell reports for the signal
_PATIENCE = 1.0  # seconds before a progress line appears
_INTERVAL = 0.1  # seconds between two states of it
_CLEAR = "\r\033[K"
#: Style → its number on a terminal.
STYLES = {"place": "1", "id": "33", "mark": "32", "ok": "32", "note": "33", "WRONG": "31"}


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


def show_in_pages(text: str) -> None:
    """Print the text; on a terminal that it does not fit, by the terminal's pager."""
    lines = shutil.get_terminal_size().lines
    if sys.stdout.isatty() and sys.stdin.isatty() and text.count("\n") >= lines:
        pydoc.pager(text)
    else:
        show(text)


def add_color(parser: argparse.ArgumentParser) -> None:
    """Add the option that says when output has colours."""
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto",
        help="colour the output; auto: on a terminal, unless NO_COLOR is set")  # fmt: skip


def painter(color: str) -> Callable[[str, str], str]:
    """Return the function that gives a text one of the styles in ``STYLES``, or leaves it."""
    wanted = color == "always" or (color == "auto" and sys.stdout.isatty() and not no_color())
    if not wanted:
        return lambda style, text: text
    return lambda style, text: f"\033[{STYLES[style]}m{text}\033[0m"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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
