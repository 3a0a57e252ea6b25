"""The usage report: which legacy symbols a program calls, from where, how often.

Off unless ``TRITON_SHIM_REPORT`` names a file, or the runner or the pytest plugin starts it.
Nothing leaves the machine.
"""

from __future__ import annotations

import threading

from tritonclient_shim.usage.recorder import Recorder

_recorder: Recorder | None = None
_asked = False  # the settings have been asked
_lock = threading.Lock()


def wanted() -> Recorder | None:
    """The recorder of this process; the first call asks the settings whether there is to be one."""
    if not _asked:
        with _lock:
            _ask()
    return _recorder


def start(recorder: Recorder) -> None:
    """Count from now on, whatever the settings say."""
    global _recorder, _asked
    _recorder, _asked = recorder, True


def stop() -> None:
    """Count no more; the settings are asked again at the next use."""
    global _recorder, _asked
    _recorder, _asked = None, False


def _ask() -> None:
    global _recorder, _asked
    from tritonclient_shim import settings

    if _asked:  # by another thread, meanwhile
        return
    path = settings.report_path()
    if path:
        from tritonclient_shim.usage import report

        _recorder = Recorder()
        report.write_at_exit(_recorder, path)
    _asked = True
