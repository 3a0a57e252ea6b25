"""Make the Triton server's own virtual environment, once per machine and set of versions."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from testbed import libpython, own_python
from testbed.generations import NEWEST, Generation, chosen
from testbed.interpreters import Interpreter
from testbed.made_once import (
    VirtualEnvironment,
    folder_name,
    made_once,
    pip_install,
    virtual_environment,
)
from testbed.missing import MissingPrerequisite
from testbed.prerequisites import Facts, choose_interpreter, gather, no_interpreter
from testbed.progress import say

NUMPY = "numpy<2"  # numpy 2 breaks every output tensor
LAYOUT = "2"  # raise it when the code below builds a folder that differs


@dataclass(frozen=True)
class Environment(VirtualEnvironment):
    """A finished environment of the Triton server."""

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
        return {**super().variables(), "LD_LIBRARY_PATH": self.libpython_dir}


def prepare(complete: bool = False) -> Environment:
    """The server environment, made now if it is not there; raises MissingPrerequisite.

    ``complete`` adds the dependencies of nvidia-pytriton, which its ``Triton.bind`` needs and the
    plain server does not; it is always the newest version.
    """
    generation = NEWEST if complete else chosen()
    prefix = "pytriton" if complete else "server"
    name = folder_name(prefix, LAYOUT, generation.package, NUMPY)
    return made_once(
        name, Environment, lambda folder: _make(folder, gather(), generation, complete)
    )


def _make(folder: Path, facts: Facts, generation: Generation, complete: bool) -> Environment:
    interpreter = choose_interpreter(facts, generation.pythons) or _fetched(
        folder.parent, facts, generation
    )
    say(f"making the server environment in {folder} with {interpreter.path}")
    python = virtual_environment(interpreter.path, folder)
    library = interpreter.libpython_dir or libpython.fetch(interpreter, folder / "libpython")
    _install(python, generation, complete)
    environment = Environment(str(python), library)
    _add_stub(environment, interpreter.version, generation)
    if complete:
        _add_shm_prefix(environment)
    say("the server environment is ready")
    return environment


def _fetched(cache: Path, facts: Facts, generation: Generation) -> Interpreter:
    reason = no_interpreter(facts, generation.pythons)
    if own_python.VERSION not in generation.pythons:
        (version,) = generation.pythons
        raise MissingPrerequisite(
            f"{reason}\nTriton {generation.triton} came for this one version. Put it on PATH or "
            f"below PYENV_ROOT: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {version}"
        )
    say(reason)
    return own_python.fetch(cache, facts.distribution)


def _install(python: Path, generation: Generation, complete: bool) -> None:
    size = "about 120 MB" if complete else "about 75 MB"
    what = f"the genuine Triton server {generation.triton} ({generation.package})"
    say(f"downloading {what}, {size}, once")
    options: tuple[str, ...] = () if complete else ("--no-deps",)
    pip_install(python, "the download", *options, generation.package, NUMPY)


def _add_stub(environment: Environment, version: str, generation: Generation) -> None:
    name = "triton_python_backend_stub"
    stubs = Path(environment.server).parents[1] / "python_backend_stubs"
    if not stubs.exists():
        return  # the oldest have one stub, in its place
    stub = stubs / version / name
    if not stub.exists():
        raise MissingPrerequisite(f"{generation.package} has no Python {version} stub at {stub}")
    shutil.copy(stub, Path(environment.backends) / "python" / name)


def _add_shm_prefix(environment: Environment) -> None:
    """Have every Python of the environment import ``_shm_prefix``, isolated ones (-I) too."""
    packages = Path(environment.server).parents[3]
    source = Path(__file__).with_name("_shm_prefix.py")
    shutil.copy(source, packages / "_testbed_shm_prefix.py")
    (packages / "_testbed_shm_prefix.pth").write_text("import _testbed_shm_prefix\n", "utf-8")
