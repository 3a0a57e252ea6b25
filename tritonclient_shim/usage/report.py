"""Writes the usage report of a process when it ends, to a file or to stderr."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Callable

from tritonclient_shim.settings import REPORT_ENDINGS
from tritonclient_shim.usage import Recorder, formats
from tritonclient_shim.usage.rows import UsageRow, rows

#: Ending of the file → how the report is written; a path without an ending gets text.
FORMATS: dict[str, Callable[[list[UsageRow]], str]] = dict(
    zip(REPORT_ENDINGS, (formats.render_text, formats.render_json, formats.render_sarif))
)


def render(found: list[UsageRow], path: str) -> str:
    """Return the report in the format of the path's ending."""
    return FORMATS.get(os.path.splitext(path)[1].lower(), formats.render_text)(found)


def write(found: list[UsageRow], path: str) -> None:
    """Write the report to a file; where that fails, stderr says so."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(render(found, path))
    except OSError as error:
        print(f"tritonclient-shim: the usage report is lost: {error}", file=sys.stderr)


def obstacle(path: str) -> str:
    """Return why a report cannot be written there, as the system says it; '' if it can.

    An older report keeps its content, and no new file is left behind. What is neither a file nor
    a folder, such as a pipe, is not touched.
    """
    path = _path_of_process(path, os.getpid())
    is_new = not os.path.lexists(path)
    if not (is_new or os.path.isfile(path) or os.path.isdir(path)):
        return ""
    try:
        with open(path, "ab"):
            pass
        if is_new:
            os.unlink(path)
    except OSError as error:
        return str(error.strerror)
    return ""


def write_at_exit(recorder: Recorder, path: str) -> None:
    """Write the recorder's uses when the process ends, also by an exception or ``sys.exit``.

    ``{pid}`` in the path stands for the process id. A child made by ``os.fork`` counts from zero;
    where the path has no ``{pid}``, the child puts its process id before the ending.
    """
    owner, folder = os.getpid(), os.getcwd()

    def finish() -> None:
        write(rows(recorder.counts()), os.path.join(folder, _path_of_process(path, owner)))

    atexit.register(finish)


def _path_of_process(path: str, owner: int) -> str:
    number = str(os.getpid())
    if "{pid}" in path or number == str(owner):
        return path.replace("{pid}", number)
    stem, ending = os.path.splitext(path)
    return f"{stem}.{number}{ending}"


def print_at_exit(recorder: Recorder) -> None:
    """Print the recorder's uses on stderr when the process ends; nothing if there are none."""
    owner = os.getpid()

    def finish() -> None:
        found = rows(recorder.counts())
        if found and os.getpid() == owner:
            print("\n" + formats.render_text(found), file=sys.stderr)

    atexit.register(finish)
