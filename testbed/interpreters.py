"""The Python interpreters of this machine, each asked what it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from glob import glob
from typing import Iterable

from testbed.cache import cache_folder

PYTHONS = ("3.11", "3.10", "3.12", "3.9", "3.8")  # for the server, in order of preference
OWN = "python"  # the folder in the cache folder where own_python puts the interpreters it fetches
_DESCRIBE = """
import json, platform, sys, sysconfig
get = sysconfig.get_config_var
try:
    import ensurepip, venv
    has_venv = True
except ImportError:
    has_venv = False
print(json.dumps({
    "path": getattr(sys, "_base_executable", sys.executable) or sys.executable,
    "prefix": sys.base_prefix, "version": "%d.%d" % sys.version_info[:2],
    "has_venv": has_venv, "multiarch": get("MULTIARCH"), "libdir": get("LIBDIR"),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """One Python; ``libpython_dir`` is the folder of its shared library, or None.

    ``from_packages``: installed by the system's package manager, which then has its library too.
    """

    path: str
    version: str
    libpython_dir: str | None
    from_packages: bool = True
    has_venv: bool = True


def find() -> Iterable[Interpreter]:
    """Those on PATH, in pyenv and in the cache folder, and the one that runs this."""
    seen = set()
    for path in _candidates():
        found = describe(path)
        if found is not None and found.path not in seen:
            seen.add(found.path)
            yield found


def _candidates() -> list[str]:
    paths = [sys.executable]
    for name in [f"python{version}" for version in PYTHONS] + ["python3"]:
        paths += [os.path.join(place, name) for place in os.get_exec_path()]
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    paths += sorted(glob(os.path.join(root, "versions", "*", "bin", "python3")))
    paths += sorted(glob(str(cache_folder() / OWN / "*" / "*" / "bin" / "python3.[0-9]*")))
    return list(dict.fromkeys(path for path in paths if os.access(path, os.X_OK)))


def describe(path: str) -> Interpreter | None:
    """What the interpreter says of itself; None for one that does not run."""
    try:
        answer = subprocess.run(
            [path, "-I", "-c", _DESCRIBE], capture_output=True, timeout=30, check=True
        ).stdout
        facts = json.loads(answer)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # a shim without its interpreter, a broken installation, python3.11-config
    version = str(facts["version"])
    own = os.path.join(facts["prefix"], "lib")
    folders = [own, os.path.join(own, facts["multiarch"] or ""), facts["libdir"]]
    library = f"libpython{version}.so.1.0"
    place = next((one for one in folders if one and os.path.exists(f"{one}/{library}")), None)
    own_path = os.path.realpath(facts["path"])
    return Interpreter(own_path, version, place, facts["prefix"] == "/usr", bool(facts["has_venv"]))
