"""The log on stderr. A reader that stops reading never stops the gateway."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Callable

from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor

log = logging.getLogger("tritonclient_shim.gateway")

#: Bytes of lines that wait to be written. Further lines are dropped.
_MOST_BYTES = 4 * 1024 * 1024
#: Seconds that the end of the process waits for the reader of the last lines.
_LAST_LINES = 1.0
_DROPPED = (
    "%d lines of this log were dropped, because nothing read stderr: let its reader go on, or "
    "start the gateway without --access-log"
)


class LineWriter:
    """Writes lines to a file descriptor, on a thread that may block. Any thread may call.

    ``on_drop`` is called for each line that is dropped.
    """

    def __init__(self, descriptor: int) -> None:
        self.on_drop: Callable[[], None] = lambda: None
        self._descriptor = descriptor
        self._thread = DaemonExecutor(1, "gateway-log")
        self._changed = threading.Condition()
        self._lines: list[bytes] = []
        self._waiting = 0  # bytes that are not written yet
        self._writing = False
        self._dropped = 0  # lines since the last report

    def put(self, line: str) -> None:
        """Write a line soon, or drop it if too many wait."""
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        with self._changed:
            if self._waiting + len(data) > _MOST_BYTES:
                self._drop(1)
                return
            self._lines.append(data)
            self._waiting += len(data)
            is_idle = not self._writing
            self._writing = True
        if is_idle:
            self._thread.execute(self._write_all)

    def flush(self, seconds: float) -> None:
        """Wait until all lines are written, but no longer than some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing, seconds)

    def _write_all(self) -> None:
        """Write the lines that wait, and those that arrive meanwhile."""
        while lines := self._take():
            if self._write(b"".join(lines)):
                self._report_drops()
            else:
                with self._changed:
                    self._drop(len(lines))
            with self._changed:
                self._waiting -= sum(map(len, lines))

    def _take(self) -> list[bytes]:
        """Return the lines that wait. Without any, this thread's work is done."""
        with self._changed:
            lines, self._lines = self._lines, []
            self._writing = bool(lines)
            self._changed.notify_all()
        return lines

    def _write(self, data: bytes) -> bool:
        """Write data. Return False if nobody can read it.

        ``sys.stderr`` has a lock, for which the end of the process would wait.
        """
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            return False
        return True

    def _drop(self, count: int) -> None:
        self._dropped += count
        for _ in range(count):
            self.on_drop()

    def _report_drops(self) -> None:
        with self._changed:
            count, self._dropped = self._dropped, 0
        if count:
            log.warning(_DROPPED, count)


class _Handler(logging.Handler):
    """Hands formatted records to a writer."""

    def __init__(self, lines: LineWriter) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record soon."""
        self._lines.put(self.format(record))

    def flush(self) -> None:
        """Wait for the last lines. The interpreter calls this when it ends."""
        self._lines.flush(_LAST_LINES)


def _names_no_metadata(record: logging.LogRecord) -> bool:
    """True for a record without metadata. gRPC logs values that are not UTF-8: credentials too."""
    return not str(record.msg).startswith("Invalid encoding")


def log_to_stderr() -> LineWriter:
    """Log to stderr: all lines of the gateway, and warnings of other libraries.

    Lines of the access log have no prefix.
    """
    lines = LineWriter(sys.stderr.fileno())
    form = "%(asctime)s %(name)s %(message)s"
    logging.basicConfig(level=logging.WARNING, format=form, handlers=[_Handler(lines)])
    log.setLevel(logging.INFO)
    logging.getLogger("grpc._cython.cygrpc").addFilter(_names_no_metadata)
    access = logging.getLogger("tritonclient_shim.gateway.access")
    access.addHandler(_Handler(lines))
    access.propagate = False
    return lines
