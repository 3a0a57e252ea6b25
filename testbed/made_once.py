"""Folders that are made once per machine and set of versions, by one process at a time.

The folders are in ``.testbed/`` at the repository root, or in the folder that the variable
``TESTBED_CACHE`` names. The file ``complete`` is written last. A folder without it is the rest of
an interrupted installation, and is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from testbed.progress import MissingPrerequisite, run, say

_UNSAFE = re.compile(r"[^\w@%+=:,./~-]")  # the backend puts paths into a shell command unquoted
FOREIGN = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV")
LAYOUT = "3"  # raise it when the code of the testbed builds folders that differ


def cache_folder() -> Path:
    """Return ``.testbed/`` at the repository root, or the folder in ``TESTBED_CACHE``."""
    default = Path(__file__).resolve().parents[1] / ".testbed"
    return Path(os.environ.get("TESTBED_CACHE") or default).resolve()


def _writable_cache_folder() -> Path:
    """Make the cache folder, which git ignores, and return it."""
    cache = cache_folder()
    if _UNSAFE.search(str(cache)):
        raise MissingPrerequisite(
            f"The server cannot run from {str(cache)!r}: its Python backend needs a path without "
            "spaces and quotes. Name another folder in the variable TESTBED_CACHE."
        )
    cache.mkdir(parents=True, exist_ok=True)
    (cache / ".gitignore").write_text("*\n", encoding="utf-8")
    return cache


@dataclass(frozen=True)
class VirtualEnvironment:
    """A virtual environment. ``library`` in its folder has libraries that its programs need."""

    folder: Path

    @property
    def python(self) -> str:
        """Return the path of its Python."""
        return str(self.folder / "bin" / "python")

    def variables(self) -> dict[str, str]:
        """Return the environment variables for its programs, without the caller's Python."""
        kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        own = {"PATH": path, "PYTHONNOUSERSITE": "1", "OPENBLAS_NUM_THREADS": "1"}
        library = str(self.folder / "library")
        return {**kept, **own, **({"LD_LIBRARY_PATH": library} if os.path.exists(library) else {})}


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cache's folder ``name``. Call ``make(folder)`` if it is not complete."""
    folder = _writable_cache_folder() / name
    with _locked(folder.with_suffix(".lock")):
        if not is_complete(folder):
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            (folder / "complete").write_text(str(folder), encoding="utf-8")
    return folder


def is_complete(folder: Path) -> bool:
    """True if the folder was made here, and its interpreter and library, if any, still exist."""
    stamp = folder / "complete"  # of a copied checkout, it names the original
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != str(folder):
        return False
    links = (folder / "bin" / "python", folder / "library")
    return all(link.exists() for link in links if link.is_symlink())


def folder_name(prefix: str, *wanted: str) -> str:
    """Return a name that depends on the requirements."""
    text = "\n".join([LAYOUT, *wanted])
    return f"{prefix}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def pip_install(folder: Path, what: str, *arguments: str) -> None:
    """Install into a virtual environment. Raise MissingPrerequisite if pip fails."""
    # -I ignores PYTHONPATH, so pip does not see the caller's packages
    command = [str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "--no-input"]
    run([*command, "--disable-pip-version-check", *arguments], what)


def virtual_environment(interpreter: str, folder: Path) -> None:
    """Make an empty virtual environment. Raise MissingPrerequisite if that fails."""
    run([interpreter, "-m", "venv", str(folder)], "the virtual environment")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process makes this environment; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
