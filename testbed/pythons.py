"""The Python interpreters of this machine, and a fetched Python if none is suitable.

The Python backend needs Python 3.8 to 3.12 with venv and its shared library. A fetched Python comes
from Debian's packages and is in the testbed's cache. The system does not change.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Iterator, Sequence

from testbed.made_once import cache_folder
from testbed.progress import MissingPrerequisite, run, say

PYTHONS = ("3.11", "3.10", "3.12", "3.9", "3.8")  # for the server, in order of preference
GLIBC_NEEDED = (2, 35)  # the server's wheel is tagged manylinux_2_35_x86_64
FETCHED = "3.11"
SUITE = "bookworm"  # Debian 12, which the mirror of a later Debian has too
PACKAGES = (
    *(f"python{FETCHED}-minimal", f"libpython{FETCHED}-minimal", f"libpython{FETCHED}-stdlib"),
    *(f"libpython{FETCHED}", f"python{FETCHED}-venv", "python3-distutils"),
    *("python3-pip-whl", "python3-setuptools-whl"),
)
_KEYS = "/usr/share/keyrings/debian-archive-keyring"
_DESCRIBE = """
import json, sys, sysconfig
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
    """A Python of this machine. ``libpython_dir`` is the folder of its shared library, or None."""

    path: str
    version: str
    libpython_dir: str | None
    has_venv: bool


@functools.lru_cache(maxsize=None)
def interpreters() -> tuple[Interpreter, ...]:
    """Return the interpreters on PATH, in pyenv and in the cache, and the running interpreter."""
    described = filter(None, map(describe, dict.fromkeys(_paths())))
    return tuple({python.path: python for python in described}.values())


def _paths() -> Iterator[str]:
    yield sys.executable
    for name in [f"python{version}" for version in PYTHONS] + ["python3"]:
        yield from (os.path.join(folder, name) for folder in os.get_exec_path())
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob(os.path.join(root, "versions", "*", "bin", "python3")))
    yield str(_fetched_path())


def describe(path: str) -> Interpreter | None:
    """Return the facts of an interpreter, or None if it does not run."""
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
    place = next((folder for folder in folders if os.path.exists(f"{folder}/{library}")), None)
    own_path = os.path.realpath(facts["path"])
    return Interpreter(own_path, version, place, bool(facts["has_venv"]))


def choose_of(versions: Sequence[str]) -> Interpreter | None:
    """Return the first of these versions that is present with venv, or None."""
    usable = [python for python in interpreters() if python.has_venv and python.version in versions]
    return min(usable, key=lambda python: versions.index(python.version), default=None)


def for_server(versions: Sequence[str] = PYTHONS) -> Interpreter:
    """Return an interpreter for the server's models. Fetch it if none is present.

    Raise MissingPrerequisite if no interpreter can be fetched, or if the platform is unsupported.
    """
    _check_platform()
    lacks = {python: _lack(python, versions) for python in interpreters()}
    usable = [python for python, lack in lacks.items() if not lack]
    if usable:
        return min(usable, key=lambda python: versions.index(python.version))
    present = [f"{python.path}, Python {python.version}: {lack}" for python, lack in lacks.items()]
    reason = f"The server's models need Python {' or '.join(versions)} with venv and its shared "
    reason += "library. Present:\n    " + "\n    ".join(present or ["none"])
    if _has_apt() and _is_debian() and FETCHED in versions:
        say(reason)
        return _fetch_from_debian()
    raise MissingPrerequisite(
        f"{reason}\nPut one on PATH or below PYENV_ROOT: "
        f"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {versions[0]}"
    )


def _lack(python: Interpreter, versions: Sequence[str]) -> str:
    """Return why the server cannot use an interpreter, or "" if it can."""
    if python.version not in versions:
        return "another version"
    package = f"python{python.version}"
    install = f"; apt-get install {package}-venv lib{package}" if _has_apt() else ""
    if not python.has_venv:
        return f"cannot make virtual environments, without venv or ensurepip{install}"
    if not python.libpython_dir:
        return f"has no shared library lib{package}.so.1.0{install}"
    return ""


def _has_apt() -> bool:
    return bool(shutil.which("apt-get") and shutil.which("dpkg"))


def _check_platform() -> None:
    system, machine = platform.system(), platform.machine()
    libc, version = platform.libc_ver()
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    if (system, machine, libc) != ("Linux", "x86_64", "glibc") or numbers < GLIBC_NEEDED:
        raise MissingPrerequisite(
            "The server needs Linux on x86-64 with glibc 2.35 or newer; this is "
            f"{system} on {machine} with {libc or 'no glibc'} {version}. Use Debian 12, Ubuntu "
            "22.04 or newer (a container is enough), or a server elsewhere."
        )


def _is_debian() -> bool:
    release = Path("/etc/os-release")
    return release.exists() and "ID=debian" in release.read_text("utf-8").splitlines()


def _fetched_path() -> Path:
    return cache_folder() / "python" / "debian" / "usr" / "bin" / f"python{FETCHED}"


def _fetch_from_debian() -> Interpreter:
    folder = _fetched_path().parents[2]
    say(f"fetching Python {FETCHED} from Debian's mirror into {folder}")
    partial = folder.with_name(f"{folder.name}.partial")
    for old in (partial, folder):
        shutil.rmtree(old, ignore_errors=True)
    _unpack(PACKAGES, partial)
    wheels = "/usr/share/python-wheels/"  # where Debian's ensurepip looks for pip
    for path in glob(str(partial / "usr/lib" / f"python{FETCHED}" / "_sysconfigdata_*.py")):
        text = Path(path).read_text(encoding="utf-8")
        Path(path).write_text(text.replace(f"'{wheels}", f"'{folder}{wheels}"), encoding="utf-8")
    os.replace(partial, folder)
    python = describe(str(_fetched_path()))
    if python is None or not (python.libpython_dir and python.has_venv):
        raise MissingPrerequisite(f"{_fetched_path()} was fetched, but does not work here")
    return python


def _unpack(packages: Sequence[str], folder: Path) -> None:
    """Unpack packages of SUITE under ``folder``. Raise MissingPrerequisite if that fails.

    apt keeps its lists and downloads under ``folder``. So it needs neither root nor the system's
    package state.
    """
    work = folder / "apt"
    for name in ("state/lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    (work / "state" / "status").touch()  # apt would prefer an installed version
    (work / "sources.list").write_text(_source(), encoding="utf-8")
    settings = [
        *(f"Dir::State={work}/state", f"Dir::Cache={work}/cache"),
        *(f"Dir::State::status={work}/state/status", f"Dir::Etc::sourcelist={work}/sources.list"),
        *("Dir::Etc::sourceparts=/dev/null", "Acquire::Languages=none"),
        "APT::Sandbox::User=root",  # apt's own user _apt cannot write into this folder
    ]
    options = [part for setting in settings for part in ("-o", setting)]
    run(["apt-get", *options, "-q", "update"], "apt-get update")
    download = ["sh", "-c", f"cd '{work}' && exec apt-get \"$@\"", "sh", *options, "-q", "download"]
    run([*download, *packages], f"download of {' '.join(packages)}")
    for archive in sorted(glob(str(work / "*.deb"))):
        run(["dpkg", "-x", archive, str(folder)], f"unpacking {Path(archive).name}")
    shutil.rmtree(work)


def _source() -> str:
    """Return a line of sources.list for the mirror that this system uses."""
    keys = next((f"{_KEYS}{end}" for end in (".pgp", ".gpg") if os.path.exists(_KEYS + end)), None)
    signed = f"[signed-by={keys}] " if keys else ""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Identifier: Packages"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    mirrors = [site for site in answer.split() if "security" not in site]
    if not mirrors:
        raise MissingPrerequisite("apt has no mirror: /etc/apt/sources.list names none")
    return f"deb {signed}{mirrors[0]} {SUITE} main\n"
