"""The environments of servers with the Open Inference Protocol that are not Triton."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from testbed.made_once import (
    VirtualEnvironment,
    cache_folder,
    folder_name,
    is_complete,
    made_once,
    pip_install,
    virtual_environment,
)
from testbed.progress import MissingPrerequisite, run, say
from testbed.pythons import choose_of

WANTED = "TESTBED_OPEN_SERVERS"  # "1": install missing servers, else use only installed servers
MODELS = Path(__file__).with_name("open_models")


@dataclass(frozen=True)
class Recipe:
    """The packages of an environment; ``plain`` is installed without its dependencies."""

    name: str
    size: str
    pythons: tuple[str, ...]
    requirements: tuple[str, ...]
    plain: tuple[str, ...] = ()
    trains: bool = False

    @property
    def folder(self) -> str:
        """Return the name of the environment's folder in the cache."""
        return folder_name(self.name, *self.requirements, *self.plain)


# The runtime of XGBoost requires the package with all GPU libraries, 700 MB more on the disk.
# xgboost-cpu is the library without them. MLServer's workers get an event loop before any exists.
# Later versions of uvloop raise an error then.
MLSERVER = Recipe(
    "mlserver",
    "about 130 MB, 550 MB on the disk",
    ("3.11", "3.10", "3.12", "3.9"),
    ("mlserver==1.7.1", "mlserver-sklearn==1.7.1", "xgboost-cpu", "uvloop<0.22"),
    ("mlserver-xgboost==1.7.1",),
    trains=True,
)
KSERVE = Recipe(
    "kserve",
    "about 110 MB, 450 MB on the disk",
    ("3.11", "3.10", "3.12", "3.13"),
    ("kserve==0.21.0",),
)


def prepare(recipe: Recipe) -> VirtualEnvironment:
    """Return the environment. Make it first if it is missing.

    Raise MissingPrerequisite if that fails.
    """
    return VirtualEnvironment(made_once(recipe.folder, lambda folder: _make(recipe, folder)))


def trained(recipe: Recipe) -> Path:
    """Return the folder of the models that were trained when the environment was made."""
    return prepare(recipe).folder / "trained"


def reason_to_skip(recipe: Recipe) -> str:
    """Return why tests skip this server, with the command that installs it; "" if they use it."""
    present = is_complete(cache_folder() / recipe.folder)
    if os.environ.get(WANTED) == "1" or present:
        return ""
    return (
        f"{recipe.requirements[0]} is not installed: `scripts/test --env open-servers` makes its "
        f"environment ({recipe.size}) and runs these tests, and so does `scripts/test --all`"
    )


def _make(recipe: Recipe, folder: Path) -> None:
    interpreter = choose_of(recipe.pythons)
    if interpreter is None:
        raise MissingPrerequisite(f"{recipe.name} needs Python {' or '.join(recipe.pythons)}")
    say(f"making the environment of {recipe.name} in {folder} with {interpreter.path}")
    virtual_environment(interpreter.path, folder)
    say(f"downloading {' '.join(recipe.requirements)}, {recipe.size}, once")
    pip_install(folder, f"the download of {recipe.name}", *recipe.requirements)
    if recipe.plain:
        pip_install(folder, f"the download of {recipe.name}", "--no-deps", *recipe.plain)
    if recipe.trains:
        program = [VirtualEnvironment(folder).python, "-I", str(MODELS / "train.py")]
        run([*program, str(folder / "trained")], "the training of small models")
    say(f"the environment of {recipe.name} is ready")
