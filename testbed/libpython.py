"""Fetch the shared libpython of a Debian interpreter without root."""

from __future__ import annotations

import os
from glob import glob
from pathlib import Path

from testbed import apt
from testbed.interpreters import Interpreter
from testbed.missing import MissingPrerequisite
from testbed.progress import say


def fetch(interpreter: Interpreter, folder: Path) -> str:
    """Unpack the package libpython3.Y under ``folder`` → the folder of the library."""
    package = f"libpython{interpreter.version}"
    say(f"{interpreter.path} has no shared library; fetching the package {package}")
    try:
        apt.unpack([package], folder)
        return os.path.dirname(glob(str(folder / "usr" / "lib" / "*" / f"{package}.so.1.0"))[0])
    except (MissingPrerequisite, IndexError) as problem:
        raise MissingPrerequisite(
            f"The server needs the shared library {package}.so.1.0, {interpreter.path} has none, "
            f"and it could not be fetched. Install it: apt-get install {package}\n{problem}"
        ) from problem
