"""The settings of deprecation notices and of the usage report: variables only."""

from __future__ import annotations

import os

#: The values of ``TRITON_SHIM_WARNINGS`` and what each of them means.
WARNING_MODES = {
    "headline": "one notice per process (the default)",
    "all": "a notice for every symbol and usage pattern, at every line that has it",
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


def report_path() -> str:
    """``TRITON_SHIM_REPORT``: where the usage report goes; '' for none.

    ``{pid}`` in it stands for the process id.
    """
    return os.environ.get("TRITON_SHIM_REPORT", "").strip()
