"""The report file of ``TRITON_SHIM_REPORT``: every process that names it adds its uses.

A process adds each place at its first use, because nothing runs at the end of a process that is
killed. At the end it adds the counts.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
from typing import IO, Any, Mapping

from tritonclient_shim.concurrency import forks
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.usage import Recorder, Use
from tritonclient_shim.usage.report import render
from tritonclient_shim.usage.rows import UsageRow, relative

try:
    import fcntl
except ImportError:  # Windows: two processes that write at one moment may lose a use
    fcntl = None  # type: ignore[assignment]

_SCOPE = (
    "These are the uses of all processes since this file was made. Delete it to count anew. "
    "Counts of processes that were killed may be too small."
)
#: Lines of a text report: a symbol, and one of its places.
_SYMBOL = re.compile(r"(TS\d+)  ")
_PLACE = re.compile(r" {7}(.+):(\d+)  (?:once|(\d+) times)$")


class ReportFile:
    """The file that the uses of a process are added to. ``{pid}`` in its path is the process id."""

    def __init__(self, recorder: Recorder, path: str) -> None:
        self._recorder = recorder
        self._path = os.path.abspath(path)  # the program may change its working directory
        self._failure_named = False
        self._lock = forks.Lock()
        self.after_fork()
        forks.repair(self)

    def after_fork(self) -> None:
        """Begin again in a forked child, whose recorder counts from zero."""
        self._added: dict[Use, int] = {}
        self._adding = False
        self._ends_noted = False

    def add(self) -> None:
        """Add the uses that the file lacks. If that fails, name the reason once on stderr."""
        with self._lock.lock:
            if self._adding:  # a signal handler has interrupted this method: the end adds its uses
                return
            self._adding = True
            try:
                self._add()
            except (OSError, ValueError) as error:
                self._name_failure(error)
            finally:
                self._adding = False

    def _name_failure(self, error: Exception) -> None:
        if not self._failure_named:
            self._failure_named = True
            print(f"tritonclient-shim: the usage report is lost: {error}", file=sys.stderr)

    def add_first_use(self) -> None:
        """Add a place that this process has used for the first time, and note the process's end."""
        if not self._ends_noted:
            self._ends_noted = True
            # A process of multiprocessing ends without Python's own functions for the end.
            multiprocessing: Any = sys.modules.get("multiprocessing.util")
            if multiprocessing is not None:
                multiprocessing.Finalize(None, self.add, exitpriority=0)
        self.add()

    def _add(self) -> None:
        counts = self._recorder.counts()
        fresh = {use: count - self._added.get(use, 0) for use, count in counts.items()}
        if not any(fresh.values()):
            return
        path = self._path.replace("{pid}", str(os.getpid()))
        with open(path, "r+", encoding="utf-8", errors="surrogateescape", opener=_opened) as file:
            if fcntl is not None:
                fcntl.lockf(file, fcntl.LOCK_EX)  # until the file is closed; no child inherits it
            rows = _sum_of(_counts_in(file, path), fresh)
            file.seek(0)
            file.write(render(rows, path, _SCOPE))
            file.truncate()
        self._added = counts


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o666)


def _sum_of(counts: Mapping[Use, int], fresh: Mapping[Use, int]) -> list[UsageRow]:
    total = dict(counts)
    for use, count in fresh.items():
        place = use._replace(file=relative(use.file))
        total[place] = total.get(place, 0) + count
    ordered = sorted(total, key=lambda use: (use.file, use.line, use.id))
    return [UsageRow(ENTRIES[use.id], use.file, use.line, total[use]) for use in ordered]


def _counts_in(file: IO[str], path: str) -> dict[Use, int]:
    """Return the counts of a report file. Raise ValueError if its content is no such report."""
    content = file.read()
    if not content.strip():
        return {}
    try:
        counts = _json_counts(content) if path.lower().endswith(".json") else _text_counts(content)
        unknown = {use.id for use in counts} - set(ENTRIES)
    except (ValueError, LookupError, TypeError):
        unknown = {"content"}
    if unknown:
        raise ValueError(
            f"{path} contains something else than a usage report of this version; expected such "
            "a report, or no file; delete it, or name another file"
        )
    return counts


def _json_counts(content: str) -> dict[Use, int]:
    uses = json.loads(content)["uses"]
    return {Use(use["id"], use["file"], int(use["line"])): int(use["count"]) for use in uses}


def _text_counts(content: str) -> dict[Use, int]:
    counts = {}
    id = ""
    for line in content.splitlines():
        symbol = _SYMBOL.match(line)
        place = _PLACE.match(line)
        if symbol:
            id = symbol[1]
        elif place:
            counts[Use(id, place[1], int(place[2]))] = int(place[3] or 1)
    if not counts:
        raise ValueError("no use")
    return counts


def keep(recorder: Recorder, path: str) -> None:
    """Add the recorder's uses to the file: each place at its first use, all counts at the end."""
    report_file = ReportFile(recorder, path)
    recorder.on_first_use = report_file.add_first_use
    atexit.register(report_file.add)
