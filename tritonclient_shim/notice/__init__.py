"""Deprecation notices: the only door to the warnings module.

Every public call of the old API passes through :func:`used`. By default that gives one
headline per process, at the user's line that first used the old API, and is nothing but a test
of one flag afterwards. ``TRITON_SHIM_WARNINGS`` and ``TRITON_SHIM_REPORT`` ask for more.
"""

from __future__ import annotations

import sys

_given = False  # everything that is to be said in this process has been said


def used(id: str) -> None:
    """The legacy symbol of this id (:mod:`~tritonclient_shim.registry`) is being called."""
    if not _given:
        _tell(id)


def forget() -> None:
    """Say everything again, by the settings of now: for tests, and after a change of settings."""
    global _given
    from tritonclient_shim.notice import watch

    watch.forget()
    _given = False


def _tell(id: str) -> None:
    global _given
    from tritonclient_shim.notice import watch

    # Escalated to an error this raises, and the next use is an error as well.
    _given = watch.tell(id, sys._getframe(2))
