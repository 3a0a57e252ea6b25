"""What the machine must offer before a server can be installed and started.

The facts are gathered once and handed on as data, so that every decision is a pure function.
"""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass

from testbed import distribution, interpreters
from testbed.distribution import Distribution
from testbed.interpreters import PYTHONS, Interpreter
from testbed.missing import MissingPrerequisite

GLIBC_NEEDED = (2, 35)  # the server's wheel is tagged manylinux_2_35_x86_64


@dataclass(frozen=True)
class Facts:
    """What the launcher needs to know about the machine."""

    system: str
    machine: str
    libc: str
    libc_version: tuple[int, ...]
    interpreters: tuple[Interpreter, ...]
    has_apt: bool
    distribution: Distribution


def gather() -> Facts:
    """The facts of this machine."""
    libc, version = platform.libc_ver()
    return Facts(
        system=platform.system(),
        machine=platform.machine(),
        libc=libc or "unknown",
        libc_version=tuple(int(part) for part in version.split(".") if part.isdigit()),
        interpreters=tuple(interpreters.find()),
        has_apt=bool(shutil.which("apt-get") and shutil.which("dpkg")),
        distribution=distribution.read(),
    )


def choose_interpreter(facts: Facts, versions: tuple[str, ...] = PYTHONS) -> Interpreter | None:
    """Facts → the interpreter to run the server's models, or None: one has to be fetched.

    Raises MissingPrerequisite where no interpreter could help.
    """
    _check_platform(facts)
    usable = [one for one in facts.interpreters if not _lack(facts, one, versions)]
    if not usable:
        return None
    return min(usable, key=lambda one: (one.libpython_dir is None, versions.index(one.version)))


def choose_of(facts: Facts, versions: tuple[str, ...]) -> Interpreter | None:
    """The first of these versions that is present and can make virtual environments, or None."""
    usable = [one for one in facts.interpreters if one.version in versions and one.has_venv]
    return min(usable, key=lambda one: versions.index(one.version), default=None)


def no_interpreter(facts: Facts, versions: tuple[str, ...] = PYTHONS) -> str:
    """What is missing, with what each interpreter that was found lacks."""
    found = [
        f"{one.path}, Python {one.version}: {_lack(facts, one, versions)}"
        for one in facts.interpreters
    ]
    *others, last = sorted(versions, key=lambda one: int(one[2:]))
    wanted = f"{', '.join(others)} or {last}" if others else last
    reason = " (numpy 1 has no wheel for later ones)" if versions == PYTHONS else ""
    return (
        f"The server's models need Python {wanted}{reason} with venv and its shared library. "
        "Found:\n    " + "\n    ".join(found or ["none"])
    )


def _lack(facts: Facts, interpreter: Interpreter, versions: tuple[str, ...]) -> str:
    """What makes the interpreter useless for the server, and what to do; "" when it will do."""
    version, has_package = interpreter.version, facts.has_apt and interpreter.from_packages
    if version not in versions:
        return "another version"
    if not interpreter.has_venv:
        remedy = f"; apt-get install python{version}-venv" if has_package else ""
        return f"cannot make virtual environments, without venv or ensurepip{remedy}"
    if interpreter.libpython_dir or has_package:
        return ""
    return f"has no shared library libpython{version}.so.1.0"


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
