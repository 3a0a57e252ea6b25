"""Deprecation notices: the only door to the warnings module.

Every public call of the old API begins with :func:`used`. By default its first call gives one
notice, the headline, at the user's line, and all later calls only test a flag.
``TRITON_SHIM_WARNINGS`` and ``TRITON_SHIM_REPORT`` ask for more.
"""

from __future__ import annotations

import sys

_finished = False  # nothing is left to be noticed or counted in this process


def used(id: str) -> None:
    """Notice and count one call of the legacy symbol with this id of the registry."""
    global _finished
    if _finished:
        return
    from tritonclient_shim.notice import watch
    from tritonclient_shim.settings import SettingsError

    try:
        # Where the notice is an error this raises, and the next call raises as well.
        _finished = watch.handle_use(id, sys._getframe(1))
    except SettingsError as error:
        raise error.with_traceback(None)  # noqa: B904 - without our frames


def forget() -> None:
    """Give every notice again, with the present settings: for tests, and when these change."""
    global _finished
    from tritonclient_shim.notice import watch

    watch.forget()
    _finished = False
