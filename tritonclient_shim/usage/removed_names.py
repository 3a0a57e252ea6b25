"""Points a program to `run` that ends because NumPy has removed a name since v1's time."""

from __future__ import annotations

import atexit
import os
import sys


def watch() -> None:
    """Name `run` at the process's end if nobody caught that NumPy lacks a name."""
    owner = os.getpid()

    def finish() -> None:
        error = getattr(sys, "last_value", None)  # Python's own: what nobody caught
        if isinstance(error, AttributeError) and os.getpid() == owner:
            _point_to_run(str(error))

    atexit.register(finish)


def _point_to_run(message: str) -> None:
    import re
    import shlex

    from tritonclient_shim.registry.patterns import REMOVED_FROM_NUMPY

    lacking = re.search(r"module 'numpy' has no attribute '(\w+)'", message)
    if lacking and lacking[1] in REMOVED_FROM_NUMPY:
        script = shlex.quote(sys.argv[0] or "SCRIPT")
        print(
            f"tritonclient-shim: NumPy has removed np.{lacking[1]}; "
            f"`tritonclient-shim run {script}` puts it back",
            file=sys.stderr,
        )
