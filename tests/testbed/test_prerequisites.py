"""What the launcher says about a machine that lacks something; the facts are handed in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed import shared_memory
from testbed.distribution import Distribution
from testbed.interpreters import Interpreter
from testbed.missing import MissingPrerequisite
from testbed.prerequisites import Facts, choose_interpreter, no_interpreter

DEBIAN = Interpreter("/usr/bin/python3.11", "3.11", None)
SHARED = Interpreter("/opt/python/bin/python3.10", "3.10", "/opt/python/lib", False)
DEBIAN_12 = Distribution("debian", "12", "Debian GNU/Linux 12 (bookworm)")
MACHINE = Facts("Linux", "x86_64", "glibc", (2, 36), (DEBIAN,), True, DEBIAN_12)


def complaint(facts: Facts) -> str:
    """The message for the facts."""
    with pytest.raises(MissingPrerequisite) as caught:
        choose_interpreter(facts)
    return str(caught.value)


def test_a_bare_debian_12_will_do() -> None:
    """Debian's interpreter is taken although its shared library has to be fetched."""
    assert choose_interpreter(MACHINE) is DEBIAN


def test_an_interpreter_with_its_library_comes_first() -> None:
    """Nothing is fetched when another interpreter is complete."""
    assert choose_interpreter(replace(MACHINE, interpreters=(DEBIAN, SHARED))) is SHARED


def test_a_newer_python_is_passed_over() -> None:
    """Python 3.13 cannot have numpy 1, so 3.10 serves although 3.13 is complete too."""
    newer = Interpreter("/opt/new/bin/python3.13", "3.13", "/opt/new/lib", False)
    assert choose_interpreter(replace(MACHINE, interpreters=(newer, SHARED))) is SHARED


@pytest.mark.parametrize("version", [(2, 31), (2, 34)])
def test_old_glibc_is_named(version: tuple[int, ...]) -> None:
    """glibc older than 2.35: the needed and the found version and a way out."""
    text = complaint(replace(MACHINE, libc_version=version))
    assert "glibc 2.35" in text
    assert f"glibc {version[0]}.{version[1]}" in text
    assert "Debian 12" in text


def test_another_c_library_is_named() -> None:
    """A machine without glibc is told so."""
    assert "this machine has musl" in complaint(replace(MACHINE, libc="musl", libc_version=()))


@pytest.mark.parametrize(("system", "machine"), [("Linux", "aarch64"), ("Darwin", "x86_64")])
def test_another_architecture_is_named(system: str, machine: str) -> None:
    """The processor and the system that were found are in the message."""
    text = complaint(replace(MACHINE, system=system, machine=machine))
    assert "x86-64" in text
    assert f"{system} on {machine}" in text


USELESS = {
    "another version": Interpreter("/usr/bin/python3.13", "3.13", "/usr/lib"),
    "apt-get install python3.11-venv": replace(DEBIAN, has_venv=False),
    "without venv or ensurepip": replace(SHARED, has_venv=False),
    "no shared library libpython3.10.so.1.0": replace(SHARED, libpython_dir=None),
}


@pytest.mark.parametrize("lack", USELESS)
def test_useless_interpreter_is_described(lack: str) -> None:
    """Where one has to be fetched, each that was found is named with what it lacks."""
    facts = replace(MACHINE, interpreters=(USELESS[lack],))
    assert choose_interpreter(facts) is None
    text = no_interpreter(facts)
    assert "Python 3.8, 3.9, 3.10, 3.11 or 3.12" in text
    assert f"{USELESS[lack].path}, Python {USELESS[lack].version}" in text
    assert lack in text


def test_packages_are_not_named_where_there_is_no_apt() -> None:
    """On a system without apt its command is no advice, and the library cannot be fetched."""
    facts = replace(MACHINE, has_apt=False, interpreters=(replace(DEBIAN, has_venv=False), DEBIAN))
    assert choose_interpreter(facts) is None
    assert "libpython3.11.so.1.0" in no_interpreter(facts)
    assert "apt-get" not in no_interpreter(facts)


def test_too_little_shared_memory_is_named() -> None:
    """Who asks for more than /dev/shm has free is told how much it has and how to enlarge it."""
    with pytest.raises(MissingPrerequisite, match=r"has \d+ MiB free.*docker run --shm-size=1g"):
        shared_memory.require(1 << 40)
    shared_memory.require(0)


def test_absent_shared_memory_is_named() -> None:
    """A machine without the folder is told to mount one."""
    with pytest.raises(MissingPrerequisite, match="mount -t tmpfs tmpfs /no/such/shm"):
        shared_memory.require(1, "/no/such/shm")
