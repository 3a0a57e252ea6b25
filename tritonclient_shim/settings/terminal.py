"""What the environment says about the terminal of the commands."""

from __future__ import annotations

import os


def wants_colours() -> bool:
    """True unless ``NO_COLOR`` is set (https://no-color.org), or the terminal knows no colours."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def pager() -> str:
    """Return the command of ``PAGER``, '' without one."""
    return os.environ.get("PAGER", "")
