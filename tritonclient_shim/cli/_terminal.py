"""Colours, a pager and progress, for terminals alone. Pipes and files get plain text."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time

from tritonclient_shim.settings import terminal

BOLD = "1"
RED = "31"
GREEN = "32"
YELLOW = "33"
CYAN = "36"
_PLAIN = "\x1b[0m"
_ERASE_LINE = "\r\x1b[K"
#: less ends at once if the text fits, shows colours, and leaves the text on the screen.
_LESS_OPTIONS = "-FRX"
#: Seconds before progress appears.
_PATIENCE = 1.0
#: Seconds between changes of progress.
_PERIOD = 0.1


def has_colours() -> bool:
    """True if standard output is a terminal whose user wants colours."""
    return sys.stdout.isatty() and terminal.wants_colours()


def painted(text: str, *styles: str) -> str:
    """Return the text in these styles, or as it is if standard output shows no colours."""
    return f"\x1b[{';'.join(styles)}m{text}{_PLAIN}" if styles and has_colours() else text


def painted_headings(text: str) -> str:
    """Return Markdown with bold headings."""
    return re.sub(r"^#+ .*$", lambda heading: painted(heading[0], BOLD), text, flags=re.MULTILINE)


def fits(text: str) -> bool:
    """True if the text needs no pager: nobody reads it at a terminal, or it fits on the screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return text.count("\n") < shutil.get_terminal_size().lines


def page(text: str) -> bool:
    """Show the text in the user's pager, or in less. Return False if there is none."""
    command = shlex.split(terminal.pager()) or ["less"]
    if os.path.basename(command[0]) == "less":
        command.append(_LESS_OPTIONS)
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE)
    except OSError:
        return False
    data = text.encode(errors="backslashreplace")
    while True:
        try:
            pager.communicate(data)
            return True
        except KeyboardInterrupt:  # belongs to the pager, which stays open
            continue


class Progress:
    """A line on stderr that says how far a long command is, until the ``with`` block ends."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._is_shown = False
        self._next = time.monotonic() + _PATIENCE

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            sys.stderr.write(_ERASE_LINE)
            sys.stderr.flush()

    def step(self, number: int, path: str) -> None:
        """Show that this file is the next, unless the line has just changed."""
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        width = shutil.get_terminal_size().columns - 1
        line = f"{number} of {self._total} files: {path}"[:width]
        encoding = sys.stderr.encoding or "utf-8"
        line = line.encode(encoding, "backslashreplace").decode(encoding)
        sys.stderr.write(f"{_ERASE_LINE}{line}")
        sys.stderr.flush()
        self._is_shown = True
        self._next = now + _PERIOD
