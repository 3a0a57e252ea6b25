"""The usage report: which legacy symbols a program calls, from where, how often.

Off unless ``TRITON_SHIM_REPORT`` names a file, or the runner or the pytest plugin starts it.
Nothing leaves the machine.
"""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple

from tritonclient_shim.concurrency import forks


class Use(NamedTuple):
    """One legacy symbol or usage pattern at one line of the user's."""

    id: str
    file: str
    line: int


class Recorder:
    """The uses of one process."""

    def __init__(self) -> None:
        self._counts: dict[Use, int] = {}
        self._lock = forks.Lock()
        #: Called after the first use of a symbol at a line.
        self.on_first_use: Callable[[], None] | None = None
        forks.repair(self)

    def count(self, id: str, file: str, line: int) -> None:
        """Count one use."""
        use = Use(id, file, line)
        with self._lock.lock:
            count = self._counts.get(use, 0) + 1
            self._counts[use] = count
        if count == 1 and self.on_first_use is not None:
            self.on_first_use()

    def add(self, counts: Mapping[Use, int]) -> None:
        """Count the uses of another process."""
        with self._lock.lock:
            for use, count in counts.items():
                self._counts[use] = self._counts.get(use, 0) + count

    def after_fork(self) -> None:
        """Count from zero in a forked child, because its parent reports the earlier uses."""
        self._counts = {}

    def counts(self) -> dict[Use, int]:
        """Return how often each use occurred, ordered by file, line and id."""
        with self._lock.lock:
            items = list(self._counts.items())
        return dict(sorted(items, key=lambda item: (item[0].file, item[0].line, item[0].id)))


_recorder: Recorder | None = None
_settings_read = False
_lock = forks.Lock()


def wanted() -> Recorder | None:
    """Return the recorder of this process, or None without a report. Settings are read once."""
    if not _settings_read:
        with _lock.lock:
            _read_settings()
    return _recorder


def start(recorder: Recorder) -> None:
    """Count from now on, whatever the settings say."""
    global _recorder, _settings_read
    _recorder = recorder
    _settings_read = True


def stop() -> None:
    """Stop counting; the settings are read again at the next use."""
    global _recorder, _settings_read
    _recorder = None
    _settings_read = False


def _read_settings() -> None:
    global _recorder, _settings_read
    from tritonclient_shim import settings

    if _settings_read:  # by another thread, meanwhile
        return
    path = settings.report_path()
    if path:
        from tritonclient_shim.usage import report_file

        _recorder = Recorder()
        report_file.keep(_recorder, path)
    _settings_read = True
