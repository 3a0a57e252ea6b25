"""Fetch a Python for the server where the machine has none: nothing of the system is changed.

On Debian it comes from the packages of Debian 12, which the mirror of a later Debian has too;
elsewhere, and when that does not work, uv downloads one. Who names a source of downloads of their
own in uv's variables gets that one first.
"""

from __future__ import annotations

import os
import shutil
import sys
from glob import glob
from pathlib import Path
from typing import Callable, Tuple

from testbed import apt
from testbed.distribution import Distribution, remedies
from testbed.interpreters import OWN, Interpreter, describe
from testbed.missing import MissingPrerequisite
from testbed.progress import run, say

VERSION = "3.11"
UV = "uv==0.13.9"
UV_SOURCES = ("UV_PYTHON_INSTALL_MIRROR", "UV_PYTHON_DOWNLOADS_JSON_URL")
DEBIAN_SUITE = "bookworm"
DEBIAN_PACKAGES = (
    *(f"python{VERSION}-minimal", f"libpython{VERSION}-minimal", f"libpython{VERSION}-stdlib"),
    *(f"libpython{VERSION}", f"python{VERSION}-venv", "python3-distutils"),
    *("python3-pip-whl", "python3-setuptools-whl"),
)
_Route = Tuple[str, Callable[[Path], str]]


def fetch(cache: Path, distribution: Distribution) -> Interpreter:
    """An interpreter in the cache folder; raises MissingPrerequisite with what else can be done."""
    say(f"this machine has no Python for the server; fetching Python {VERSION} into {cache}")
    for name, route in _routes(distribution):
        try:
            path = route(cache / OWN / name)
            found = describe(path)
            if found and found.libpython_dir and found.has_venv:
                return found
            say(f"{path} was fetched, but {'is incomplete' if found else 'does not start here'}")
        except MissingPrerequisite as problem:
            say(str(problem))
    todo = "".join(f"\n  - {one}" for one in remedies(distribution, VERSION))
    raise MissingPrerequisite(
        f"Python {VERSION} could not be fetched; the reasons are above. "
        f"{distribution.name} gets one in any of these ways:{todo}"
    )


def _routes(distribution: Distribution) -> list[_Route]:
    debian: list[_Route] = [("debian", from_debian)] if distribution.id == "debian" else []
    uv: list[_Route] = [("uv", with_uv)]
    return uv + debian if any(map(os.environ.get, UV_SOURCES)) else debian + uv


def from_debian(folder: Path) -> str:
    """Unpack the packages of Debian 12 → the path of the interpreter."""
    partial = folder.with_name(f"{folder.name}.partial")
    for one in (partial, folder):
        shutil.rmtree(one, ignore_errors=True)
    apt.unpack(DEBIAN_PACKAGES, partial, DEBIAN_SUITE)
    wheels = "/usr/share/python-wheels/"  # where Debian's ensurepip looks for pip
    for path in glob(str(partial / "usr/lib" / f"python{VERSION}" / "_sysconfigdata_*.py")):
        text = Path(path).read_text(encoding="utf-8")
        Path(path).write_text(text.replace(f"'{wheels}", f"'{folder}{wheels}"), encoding="utf-8")
    os.replace(partial, folder)
    return str(folder / "usr" / "bin" / f"python{VERSION}")


def with_uv(folder: Path) -> str:
    """Have uv download an interpreter → its path."""
    tool = folder.with_name("uv-tool")
    shutil.rmtree(tool, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(tool)], "the environment of uv")
    pip = [str(tool / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    run([*pip, "install", UV], "the download of uv")
    options = ["--no-bin", "--install-dir", str(folder), "--cache-dir", str(tool / "cache")]
    run([str(tool / "bin" / "uv"), "python", "install", *options, VERSION], f"Python {VERSION}")
    shutil.rmtree(tool)
    pattern = str(folder / f"cpython-{VERSION}*" / "bin" / f"python{VERSION}")
    return max(glob(pattern), key=os.path.getmtime)
