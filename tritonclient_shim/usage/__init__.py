"""The usage report: which legacy symbols a program calls, from where, how often.

Off unless ``TRITON_SHIM_REPORT`` names a file, or the runner or the pytest plugin starts it.
Nothing leaves the machine.
"""

from __future__ import annotations

from tritonclient_shim.core import forks
from tritonclient_shim.usage.recorder import Recorder

_recorder: Recorder | None = None
_settings_read = False
_lock = forks.Lock()


def wanted() -> Recorder | None:
    """The recorder of this process, or None where no report is wanted. Settings are read once."""
    if not _settings_read:
        with _lock:
            _read_settings()
    return _recorder


def start(recorder: Recorder) -> None:
    """Count from now on, whatever the settings say."""
    global _recorder, _settings_read
    _recorder, _settings_read = recorder, True


def stop() -> None:
    """Stop counting; the settings are read again at the next use."""
    global _recorder, _settings_read
    _recorder, _settings_read = None, False


def _read_settings() -> None:
    global _recorder, _settings_read
    from tritonclient_shim import settings

    if _settings_read:  # by another thread, meanwhile
        return
    path = settings.report_path()
    if path:
        from tritonclient_shim.usage import report

        _recorder = Recorder()
        report.write_at_exit(_recorder, path)
    _settings_read = True
