"""Make the virtual environment of the Triton server, once per machine and set of versions."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from testbed.made_once import (
    VirtualEnvironment,
    folder_name,
    made_once,
    pip_install,
    virtual_environment,
)
from testbed.progress import MissingPrerequisite, say
from testbed.pythons import PYTHONS, for_server, libpython_of

NUMPY = "numpy<2"  # numpy 2 breaks every output tensor
LAYOUT = "2"  # raise it when the code below builds a folder that differs
VARIABLE = "TESTBED_TRITON"


@dataclass(frozen=True)
class Generation:
    """A version of nvidia-pytriton, its Triton's version, the Pythons of its models, and flags."""

    version: str
    triton: str
    pythons: tuple[str, ...] = PYTHONS
    flags: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """Return the requirement for pip."""
        return f"nvidia-pytriton=={self.version}"


GENERATIONS = {
    generation.version: generation
    for generation in (
        # It has one stub of the Python backend, for Python 3.8. On a busy machine three of four
        # starts ended with a lock_exception. Loading models one by one prevents that.
        Generation("0.2.0", "2.33", ("3.8",), ("--model-load-thread-count=1",)),
        Generation("0.4.2", "2.39", ("3.11", "3.10", "3.9", "3.8")),
        Generation("0.7.0", "2.51"),
    )
}
NEWEST = GENERATIONS["0.7.0"]


def chosen() -> Generation:
    """Return the generation in TESTBED_TRITON, or the newest.

    Raise MissingPrerequisite if TESTBED_TRITON names an unknown version.
    """
    version = os.environ.get(VARIABLE) or NEWEST.version
    if version not in GENERATIONS:
        raise MissingPrerequisite(
            f"{VARIABLE} is {version!r}, which is no version of nvidia-pytriton that runs here. "
            f"Use one of {', '.join(GENERATIONS)}."
        )
    return GENERATIONS[version]


@dataclass(frozen=True)
class Environment(VirtualEnvironment):
    """A finished environment of the Triton server."""

    libpython_dir: str

    @property
    def _triton(self) -> Path:
        (result,) = glob(str(Path(self.python).parents[1] / "lib/python3.*/site-packages/pytriton"))
        return Path(result) / "tritonserver"

    @property
    def server(self) -> str:
        """Return the path of the ``tritonserver`` binary."""
        return str(self._triton / "bin" / "tritonserver")

    @property
    def backends(self) -> str:
        """Return the folder for ``--backend-directory``."""
        return str(self._triton / "backends")

    def variables(self) -> dict[str, str]:
        """Return the environment variables that name the server's Python and libpython."""
        return {**super().variables(), "LD_LIBRARY_PATH": self.libpython_dir}


def prepare(complete: bool = False) -> Environment:
    """Return the server environment. Make it first if it is missing.

    ``complete`` adds the dependencies of nvidia-pytriton, which ``Triton.bind`` needs. The plain
    server needs none. A complete environment has the newest version. Raise MissingPrerequisite if
    the environment cannot be made.
    """
    generation = NEWEST if complete else chosen()
    prefix = "pytriton" if complete else "server"
    name = folder_name(prefix, LAYOUT, generation.package, NUMPY)
    return made_once(name, Environment, lambda folder: _make(folder, generation, complete))


def _make(folder: Path, generation: Generation, complete: bool) -> Environment:
    interpreter = for_server(generation.pythons)
    say(f"making the server environment in {folder} with {interpreter.path}")
    python = virtual_environment(interpreter.path, folder)
    library = libpython_of(interpreter, folder / "libpython")
    what = f"the genuine Triton server {generation.triton} ({generation.package})"
    say(f"downloading {what}, {'about 120 MB' if complete else 'about 75 MB'}, once")
    options = () if complete else ("--no-deps",)
    pip_install(python, "the download", *options, generation.package, NUMPY)
    environment = Environment(str(python), library)
    _add_stub(environment, interpreter.version, generation)
    if complete:
        _add_shm_prefix(environment)
    say("the server environment is ready")
    return environment


def _add_stub(environment: Environment, version: str, generation: Generation) -> None:
    name = "triton_python_backend_stub"
    stubs = Path(environment.server).parents[1] / "python_backend_stubs"
    if not stubs.exists():
        return  # the oldest version has one stub, which is in its place
    stub = stubs / version / name
    if not stub.exists():
        raise MissingPrerequisite(f"{generation.package} has no Python {version} stub at {stub}")
    shutil.copy(stub, Path(environment.backends) / "python" / name)


def _add_shm_prefix(environment: Environment) -> None:
    """Make every Python of the environment import ``_shm_prefix``, also with ``-I``."""
    packages = Path(environment.server).parents[3]
    source = Path(__file__).with_name("_shm_prefix.py")
    shutil.copy(source, packages / "_testbed_shm_prefix.py")
    (packages / "_testbed_shm_prefix.pth").write_text("import _testbed_shm_prefix\n", "utf-8")
