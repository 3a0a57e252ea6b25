"""The settings of deprecation notices and of the usage report: variables only."""

from __future__ import annotations

import os

from tritonclient_shim.settings.fields import SettingsError

#: The values of ``TRITON_SHIM_WARNINGS`` and what each of them means.
WARNING_MODES = {
    "headline": "one notice per process (the default)",
    "all": "a notice for every symbol and usage pattern, at every line that has it",
    "error": "the notice is raised as an exception",
    "off": "no notice",
}

#: The endings of a usage report's path: text, JSON and SARIF.
REPORT_ENDINGS = (".txt", ".json")


def warnings_mode() -> str:
    """``TRITON_SHIM_WARNINGS``, checked: one of :data:`WARNING_MODES`.

    Raises SettingsError for anything else, naming what is allowed.
    """
    mode = os.environ.get("TRITON_SHIM_WARNINGS", "headline").strip().lower() or "headline"
    if mode not in WARNING_MODES:
        allowed = ", ".join(f"{name} ({meaning})" for name, meaning in WARNING_MODES.items())
        raise SettingsError(f"TRITON_SHIM_WARNINGS is {mode!r}; expected one of: {allowed}")
    return mode


def report_path() -> str:
    """Return ``TRITON_SHIM_REPORT``: where the usage report goes; '' for none.

    ``{pid}`` in it stands for the process id. Raises SettingsError if its ending is not known.
    """
    path = os.environ.get("TRITON_SHIM_REPORT", "").strip()
    problem = report_problem(path)
    if problem:
        raise SettingsError(f"TRITON_SHIM_REPORT is {path!r}; {problem}")
    return path


def report_problem(path: str) -> str:
    """Return what is wrong with the ending of a report's path, and what was expected; or ''."""
    ending = os.path.splitext(path)[1]
    if not ending or ending.lower() in REPORT_ENDINGS:
        return ""
    return f"no report is written as {ending}; expected {', '.join(REPORT_ENDINGS)} or no ending"
