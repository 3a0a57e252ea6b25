"""Make the server's own virtual environment, once per machine and set of versions.

It lives in ``.testbed/`` at the repository root, or in the folder that the variable
``TESTBED_CACHE`` names. A folder counts only when its ``complete.json`` exists, which is written
last; anything else there is the rest of an interrupted installation and is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path
from typing import Iterator

from testbed import libpython, own_python
from testbed.cache import writable_cache_folder
from testbed.interpreters import Interpreter
from testbed.missing import MissingPrerequisite
from testbed.prerequisites import Facts, choose_interpreter, gather, no_interpreter
from testbed.progress import run, say

REQUIREMENTS = ("nvidia-pytriton==0.7.0", "numpy<2")  # numpy 2 breaks every output tensor
LAYOUT = "2"  # raise it when the code below builds a folder that differs


@dataclass(frozen=True)
class Environment:
    """A finished server environment."""

    python: str
    libpython_dir: str

    @property
    def _triton(self) -> Path:
        (found,) = glob(str(Path(self.python).parents[1] / "lib/python3.*/site-packages/pytriton"))
        return Path(found) / "tritonserver"

    @property
    def server(self) -> str:
        """The path of the ``tritonserver`` binary."""
        return str(self._triton / "bin" / "tritonserver")

    @property
    def backends(self) -> str:
        """The folder for ``--backend-directory``."""
        return str(self._triton / "backends")

    def variables(self) -> dict[str, str]:
        """The process environment in which the server finds its Python and libpython."""
        own = {
            "PATH": f"{Path(self.python).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "LD_LIBRARY_PATH": self.libpython_dir,
            "OPENBLAS_NUM_THREADS": "1",  # numpy starts a thread per core otherwise
            "PYTHONNOUSERSITE": "1",
        }
        foreign = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if name not in foreign}
        return {**kept, **own}


def prepare(complete: bool = False) -> Environment:
    """The server environment, made now if it is not there; raises MissingPrerequisite.

    ``complete`` adds the dependencies of nvidia-pytriton, which its ``Triton.bind`` needs and the
    plain server does not.
    """
    cache = writable_cache_folder()
    folder = cache / _key(complete)
    with _locked(cache / f"{folder.name}.lock"):
        return _finished(folder) or _make(folder, gather(), complete)


def _finished(folder: Path) -> Environment | None:
    mark = folder / "complete.json"
    if not mark.exists():
        return None
    found = Environment(**json.loads(mark.read_text(encoding="utf-8")))
    # a copied checkout still names its original, and an interpreter may have been removed
    here = Path(found.python).parents[1] == folder
    intact = os.path.exists(found.python) and os.path.isdir(found.libpython_dir)
    return found if here and intact else None


def _key(complete: bool) -> str:
    wanted = "\n".join((LAYOUT, *REQUIREMENTS))
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:10]
    return f"{'pytriton' if complete else 'server'}-{digest}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process prepares the server environment; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make(folder: Path, facts: Facts, complete: bool) -> Environment:
    interpreter = choose_interpreter(facts) or _fetched(folder.parent, facts)
    shutil.rmtree(folder, ignore_errors=True)
    say(f"making the server environment in {folder} with {interpreter.path}")
    run([interpreter.path, "-m", "venv", str(folder)], "the virtual environment")
    python = folder / "bin" / "python"
    library = interpreter.libpython_dir or libpython.fetch(interpreter, folder / "libpython")
    _install(python, complete)
    environment = Environment(str(python), library)
    _add_stub(environment, interpreter.version)
    if complete:
        _add_shm_prefix(environment)
    partial = folder / "complete.partial"
    partial.write_text(json.dumps(asdict(environment)), encoding="utf-8")
    os.replace(partial, folder / "complete.json")
    say("the server environment is ready")
    return environment


def _fetched(cache: Path, facts: Facts) -> Interpreter:
    say(no_interpreter(facts))
    return own_python.fetch(cache, facts.distribution)


def _install(python: Path, complete: bool) -> None:
    size = "about 120 MB" if complete else "about 75 MB"
    say(f"downloading the genuine Triton server ({REQUIREMENTS[0]}), {size}, once")
    options: tuple[str, ...] = () if complete else ("--no-deps",)
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    run([*command, *options, *REQUIREMENTS], "the download")


def _add_stub(environment: Environment, version: str) -> None:
    name = "triton_python_backend_stub"
    stub = Path(environment.server).parents[1] / "python_backend_stubs" / version / name
    if not stub.exists():
        raise MissingPrerequisite(f"{REQUIREMENTS[0]} has no Python {version} stub at {stub}")
    shutil.copy(stub, Path(environment.backends) / "python" / name)


def _add_shm_prefix(environment: Environment) -> None:
    """Have every Python of the environment import ``_shm_prefix``, isolated ones (-I) too."""
    packages = Path(environment.server).parents[3]
    source = Path(__file__).with_name("_shm_prefix.py")
    shutil.copy(source, packages / "_testbed_shm_prefix.py")
    (packages / "_testbed_shm_prefix.pth").write_text("import _testbed_shm_prefix\n", "utf-8")
