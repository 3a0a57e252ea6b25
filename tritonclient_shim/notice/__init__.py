"""Deprecation notices: the only door to the warnings module.

One headline per process, at the user's line that first used the old API.
"""

from __future__ import annotations

import threading

_lock = threading.Lock()
_given = False


def headline() -> None:
    """Tell once per process that the API is deprecated; nothing but a test afterwards."""
    if not _given:
        _give()


def _give() -> None:
    global _given
    from tritonclient_shim.notice import warn

    with _lock:
        if _given:
            return
        _given = True
    try:
        warn.headline()
    except BaseException:
        _given = False  # escalated to an error: the next use is an error as well
        raise
