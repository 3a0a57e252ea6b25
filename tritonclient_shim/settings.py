"""Settings from the environment: the only reader of ``os.environ`` at run time."""

from __future__ import annotations

import os

#: What ``TRITON_SHIM_WARNINGS`` may say, and what each of them means.
WARNING_MODES = {
    "headline": "one notice per process (the default)",
    "error": "the notice is raised as an exception",
    "off": "no notice",
}


def warnings_mode() -> str:
    """``TRITON_SHIM_WARNINGS``, checked: one of :data:`WARNING_MODES`.

    Raises ValueError for anything else, naming what is allowed.
    """
    mode = os.environ.get("TRITON_SHIM_WARNINGS", "headline").strip().lower() or "headline"
    if mode not in WARNING_MODES:
        allowed = ", ".join(f"{name} ({meaning})" for name, meaning in WARNING_MODES.items())
        raise ValueError(f"TRITON_SHIM_WARNINGS is {mode!r}; expected one of: {allowed}")
    return mode
