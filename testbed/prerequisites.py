"""What the machine must offer before a server can be installed and started.

The facts are gathered once and handed on as data, so that every decision is a pure function.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from glob import glob
from typing import Iterable

GLIBC_NEEDED = (2, 35)  # the server's wheel is tagged manylinux_2_35_x86_64
PYTHONS = ("3.11", "3.10", "3.12", "3.9", "3.8")  # in order of preference
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


class MissingPrerequisite(RuntimeError):
    """The machine lacks something the server needs; the text names it and what to do."""


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


@dataclass(frozen=True)
class Facts:
    """What the launcher needs to know about the machine."""

    system: str
    machine: str
    libc: str
    libc_version: tuple[int, ...]
    interpreters: tuple[Interpreter, ...]
    can_fetch_packages: bool


def gather() -> Facts:
    """The facts of this machine."""
    libc, version = platform.libc_ver()
    return Facts(
        system=platform.system(),
        machine=platform.machine(),
        libc=libc or "unknown",
        libc_version=tuple(int(part) for part in version.split(".") if part.isdigit()),
        interpreters=tuple(_interpreters()),
        can_fetch_packages=bool(shutil.which("apt-get") and shutil.which("dpkg")),
    )


def choose_interpreter(facts: Facts) -> Interpreter:
    """Facts → the interpreter to run the server's models; raises MissingPrerequisite."""
    _check_platform(facts)
    known = [one for one in facts.interpreters if one.version in PYTHONS]
    if not known:
        raise MissingPrerequisite(_no_interpreter(facts))
    with_venv = [one for one in known if one.has_venv]
    if not with_venv:
        raise MissingPrerequisite(
            f"{known[0].path} cannot make virtual environments: its modules venv and ensurepip "
            "are not installed. Install them: apt-get install python3-venv"
        )
    usable = [one for one in with_venv if one.libpython_dir or _can_fetch(facts, one)]
    if not usable:
        raise MissingPrerequisite(no_libpython(with_venv[0]))
    return min(usable, key=lambda one: (one.libpython_dir is None, PYTHONS.index(one.version)))


def _can_fetch(facts: Facts, interpreter: Interpreter) -> bool:
    return facts.can_fetch_packages and interpreter.from_packages


def no_libpython(interpreter: Interpreter) -> str:
    """The message for an interpreter whose shared library is absent."""
    return (
        f"The server needs the shared library libpython{interpreter.version}.so.1.0, and "
        f"{interpreter.path} has none. Install it: "
        f"apt-get install libpython{interpreter.version}"
    )


def _check_platform(facts: Facts) -> None:
    if facts.system != "Linux" or facts.machine not in ("x86_64", "AMD64"):
        raise MissingPrerequisite(
            f"The server runs on Linux with an x86-64 processor; this is {facts.system} on "
            f"{facts.machine}. Use another machine, or point the scripts at a server elsewhere."
        )
    if facts.libc != "glibc" or facts.libc_version < GLIBC_NEEDED:
        found = ".".join(str(part) for part in facts.libc_version) or "of unknown version"
        raise MissingPrerequisite(
            f"The server needs glibc 2.35 or newer; this machine has {facts.libc} {found}. "
            "Use Debian 12, Ubuntu 22.04 or newer (a container of one will do)."
        )


def _no_interpreter(facts: Facts) -> str:
    found = ", ".join(sorted({one.version for one in facts.interpreters})) or "none"
    return (
        "The server's models need Python 3.8, 3.9, 3.10, 3.11 or 3.12 (numpy 1 has no wheel for "
        f"later ones); found: {found}. Install one: apt-get install python3.11 python3.11-venv"
    )


def _interpreters() -> Iterable[Interpreter]:
    seen = set()
    for path in _candidates():
        found = _describe(path)
        if found is not None and found.path not in seen:
            seen.add(found.path)
            yield found


def _candidates() -> list[str]:
    paths = [sys.executable]
    for name in [f"python{version}" for version in PYTHONS] + ["python3"]:
        paths += [os.path.join(place, name) for place in os.get_exec_path()]
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    paths += sorted(glob(os.path.join(root, "versions", "*", "bin", "python3")))
    return list(dict.fromkeys(path for path in paths if os.access(path, os.X_OK)))


def _describe(path: str) -> Interpreter | None:
    try:
        answer = subprocess.run(
            [path, "-I", "-c", _DESCRIBE], capture_output=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None  # a shim without its interpreter, or a broken installation
    facts = json.loads(answer)
    version = str(facts["version"])
    folders = [facts["libdir"], os.path.join(facts["prefix"], "lib")]
    from_packages = facts["prefix"] == "/usr"
    if from_packages:
        folders.append(os.path.join("/usr/lib", facts["multiarch"] or ""))
    library = f"libpython{version}.so.1.0"
    place = next((one for one in folders if one and os.path.exists(f"{one}/{library}")), None)
    own_path = os.path.realpath(facts["path"])
    return Interpreter(own_path, version, place, from_packages, bool(facts["has_venv"]))
