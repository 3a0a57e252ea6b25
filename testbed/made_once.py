"""Folders that are made once per machine and set of versions, by one process at a time.

The folders are in ``.testbed/`` at the repository root, or in the folder that the variable
``TESTBED_CACHE`` names. ``complete.json`` is written last. A folder without it is the rest of an
interrupted installation, and is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, TypeVar

from testbed.progress import MissingPrerequisite, run, say

_UNSAFE = re.compile(r"[^\w@%+=:,./~-]")  # the backend puts paths into a shell command unquoted
FOREIGN = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV")


def cache_folder() -> Path:
    """Return ``.testbed/`` at the repository root, or the folder in ``TESTBED_CACHE``."""
    default = Path(__file__).resolve().parents[1] / ".testbed"
    return Path(os.environ.get("TESTBED_CACHE") or default).resolve()


def writable_cache_folder() -> Path:
    """Make the cache folder, which git ignores, and return it.

    Raise MissingPrerequisite if that fails.
    """
    cache = cache_folder()
    if _UNSAFE.search(str(cache)):
        raise MissingPrerequisite(
            f"The server cannot run from {str(cache)!r}: its Python backend needs a path without "
            "spaces and quotes. Name another folder in the variable TESTBED_CACHE."
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        (cache / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as problem:
        raise MissingPrerequisite(
            f"Cannot write the server environment to {cache}: {problem}. "
            "Name a folder of yours in the variable TESTBED_CACHE."
        ) from problem
    return cache


@dataclass(frozen=True)
class VirtualEnvironment:
    """A finished virtual environment. All fields are paths, also the fields of subclasses."""

    python: str

    def variables(self) -> dict[str, str]:
        """Return the environment variables for its programs, without the caller's Python."""
        kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        path = f"{Path(self.python).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**kept, "PATH": path, "PYTHONNOUSERSITE": "1", "OPENBLAS_NUM_THREADS": "1"}


Product = TypeVar("Product")


def made_once(name: str, kind: Callable[..., Product], make: Callable[[Path], Product]) -> Product:
    """Return the record of the cache's folder ``name``. Call ``make(folder)`` if it has none.

    ``kind`` is a dataclass of paths. The first path is below the folder. Raise
    MissingPrerequisite if the cache cannot be written.
    """
    cache = writable_cache_folder()
    folder = cache / name
    with _locked(cache / f"{name}.lock"):
        present = finished(name, kind)
        if present is not None:
            return present
        shutil.rmtree(folder, ignore_errors=True)
        product = make(folder)
        partial = folder / "complete.partial"
        partial.write_text(json.dumps(vars(product)), encoding="utf-8")
        os.replace(partial, folder / "complete.json")
        return product


def finished(name: str, kind: Callable[..., Product]) -> Product | None:
    """Return the record of the cache's folder ``name`` if the folder is complete."""
    folder = cache_folder() / name
    mark = folder / "complete.json"
    if not mark.exists():
        return None
    result = kind(**json.loads(mark.read_text(encoding="utf-8")))
    paths = [*vars(result).values()]
    # a copied checkout still names its original, and an interpreter may have been removed
    here = folder in Path(paths[0]).parents
    return result if here and all(map(os.path.exists, paths)) else None


def folder_name(prefix: str, *wanted: str) -> str:
    """Return a name that depends on the requirements."""
    return f"{prefix}-{hashlib.sha256(chr(10).join(wanted).encode()).hexdigest()[:10]}"


def pip_install(python: str | Path, what: str, *arguments: str) -> None:
    """Install into the environment, and print each line of pip.

    Raise MissingPrerequisite if pip fails.
    """
    # -I ignores PYTHONPATH, so pip does not see the caller's packages
    command = [str(python), "-I", "-m", "pip", "install", "--disable-pip-version-check"]
    run([*command, "--no-input", *arguments], what)


def virtual_environment(interpreter: str, folder: Path) -> Path:
    """Make an empty virtual environment and return the path of its Python.

    Raise MissingPrerequisite if that fails.
    """
    run([interpreter, "-m", "venv", str(folder)], "the virtual environment")
    return folder / "bin" / "python"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process makes this environment; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
