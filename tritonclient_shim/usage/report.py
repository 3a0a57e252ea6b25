"""Writes the usage report of a process when it ends, to a file or to stderr."""

from __future__ import annotations

import atexit
import os
import sys

from tritonclient_shim.usage import Recorder, formats
from tritonclient_shim.usage.rows import UsageRow, rows_of


def render(rows: list[UsageRow], path: str) -> str:
    """Return the report, as JSON if the path ends so, else as text."""
    if path.lower().endswith(".json"):
        return formats.dumped(formats.json_document(rows))
    return formats.text(rows)


def write(rows: list[UsageRow], path: str) -> None:
    """Write the report to a file. If that fails, name the reason on stderr."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(render(rows, path))
    except OSError as error:
        print(f"tritonclient-shim: the usage report is lost: {error}", file=sys.stderr)


def write_at_exit(recorder: Recorder, path: str) -> None:
    """Write the recorder's uses when the process ends, also by an exception or ``sys.exit``.

    ``{pid}`` in the path stands for the process id. A child made by ``os.fork`` counts from zero;
    where the path has no ``{pid}``, the child puts its process id before the ending.
    """
    owner, folder = os.getpid(), os.getcwd()

    def finish() -> None:
        write(rows_of(recorder.counts()), os.path.join(folder, _path_of_process(path, owner)))

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
        rows = rows_of(recorder.counts())
        if rows and os.getpid() == owner:
            print("\n" + formats.text(rows), file=sys.stderr)

    atexit.register(finish)
