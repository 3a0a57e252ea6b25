"""Make the virtual environment of the Triton server, once per machine and set of versions."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed.made_once import (
    VirtualEnvironment,
    folder_name,
    made_once,
    pip_install,
    virtual_environment,
)
from testbed.progress import MissingPrerequisite, say
from testbed.pythons import PYTHONS, for_server

NUMPY = "numpy<2"  # numpy 2 breaks every output tensor


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
        Generation("0.7.0", "2.51"),
    )
}
NEWEST = GENERATIONS["0.7.0"]


def chosen() -> Generation:
    """Return the generation that the variable TESTBED_TRITON names, by default the newest."""
    return GENERATIONS[os.environ.get("TESTBED_TRITON") or NEWEST.version]


class Environment(VirtualEnvironment):
    """A finished environment of the Triton server."""

    @property
    def _triton(self) -> Path:
        (result,) = self.folder.glob("lib/python3.*/site-packages/pytriton/tritonserver")
        return result

    @property
    def server(self) -> str:
        """Return the path of the ``tritonserver`` binary."""
        return str(self._triton / "bin" / "tritonserver")

    @property
    def backends(self) -> str:
        """Return the folder for ``--backend-directory``."""
        return str(self._triton / "backends")


def prepare() -> Environment:
    """Return the server environment. Make it first if it is missing.

    Raise MissingPrerequisite if it cannot be made.
    """
    generation = chosen()
    name = folder_name("server", generation.package, NUMPY)
    return Environment(made_once(name, lambda folder: _make(folder, generation)))


def _make(folder: Path, generation: Generation) -> None:
    interpreter = for_server(generation.pythons)
    say(f"making the server environment in {folder} with {interpreter.path}")
    virtual_environment(interpreter.path, folder)
    (folder / "library").symlink_to(str(interpreter.libpython_dir))
    what = f"the genuine Triton server {generation.triton} ({generation.package})"
    say(f"downloading {what}, about 75 MB, once")
    # the server needs none of the package's dependencies
    pip_install(folder, "the download", "--no-deps", generation.package, NUMPY)
    _add_stub(Environment(folder), interpreter.version, generation)
    say("the server environment is ready")


def _add_stub(environment: Environment, version: str, generation: Generation) -> None:
    name = "triton_python_backend_stub"
    stubs = Path(environment.server).parents[1] / "python_backend_stubs"
    if not stubs.exists():
        return  # the oldest version has one stub, which is in its place
    stub = stubs / version / name
    if not stub.exists():
        raise MissingPrerequisite(f"{generation.package} has no Python {version} stub at {stub}")
    shutil.copy(stub, Path(environment.backends) / "python" / name)
