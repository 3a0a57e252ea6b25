"""The printed commands install our package again from its origin."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest

from tests.installation import distributions
from tests.installation.environments import Environment, commands, star_names_here, top_level

pytestmark = pytest.mark.release  # an environment for each test

Install = Callable[[Environment, Path, Path], None]


def wheel_of_an_index(environment: Environment, wheel: Path, folder: Path) -> None:
    """Install by name from a folder of wheels. pip notes no address, as for an index."""
    environment.variables = {"PIP_FIND_LINKS": str(wheel.parent), "PIP_NO_INDEX": "1"}
    environment.install("tritonclient-shim")


def address_of_a_wheel(environment: Environment, wheel: Path, folder: Path) -> None:
    """Install from a ``file:`` address."""
    environment.install(wheel.as_uri())


def checkout(environment: Environment, wheel: Path, folder: Path) -> None:
    """Install from a folder with the sources."""
    environment.install(str(distributions.checkout(folder / "a checkout")))


def editable(environment: Environment, wheel: Path, folder: Path) -> None:
    """Install a folder with the sources as editable."""
    environment.install("--editable", str(distributions.checkout(folder / "a checkout")))


def repository(environment: Environment, wheel: Path, folder: Path) -> None:
    """Install from a git repository, which pip clones."""
    source = distributions.checkout(folder / "repository")
    for words in ("init --quiet", "add .", "-c user.name=x -c user.email=x commit --quiet -m x"):
        subprocess.run(["git", *words.split()], cwd=str(source), check=True)
    environment.install(f"git+{source.as_uri()}")


def target_folder(environment: Environment, wheel: Path, folder: Path) -> None:
    """Install with --target into a folder that is on PYTHONPATH."""
    target = folder / "target folder"
    environment.install("--target", str(target), str(distributions.nvidias()))
    environment.install("--target", str(target), str(wheel))
    environment.variables = {"PYTHONPATH": str(target)}


ORIGINS = (
    wheel_of_an_index,
    address_of_a_wheel,
    checkout,
    editable,
    repository,
    target_folder,
)


@pytest.mark.parametrize("install", ORIGINS, ids=lambda install: install.__name__)
def test_the_place_is_known(tmp_path: Path, wheel: Path, install: Install) -> None:
    """If NVIDIA's wheel is installed too, the doctor's commands leave only ours, complete."""
    environment = Environment(tmp_path / "environment")
    install(environment, wheel, tmp_path)
    if install is not target_folder:
        environment.install("--no-index", str(distributions.nvidias()))
    result = environment.doctor()
    assert (result.returncode, result.stderr) == (1, ""), result.stdout
    for command in commands(result.stdout):
        environment.succeed("sh", "-c", command)
    names, healed = environment.star_names(), environment.doctor()
    assert (names.stdout, names.returncode) == (star_names_here(), 0), names.stderr
    assert healed.returncode == 0, healed.stdout


def test_an_environment_without_pip_gets_it(tmp_path: Path, wheel: Path) -> None:
    """Without pip, the first command installs pip."""
    environment = Environment(tmp_path / "environment")
    environment.install("--no-index", str(wheel))
    (environment.site / "tensorrtserver" / "__init__.py").unlink()
    for name in top_level("pip"):
        (environment.folder / "linked" / name).unlink()
    text = environment.doctor().stdout
    assert commands(text)[0] == f"{environment.python} -m ensurepip"
    for command in commands(text):
        environment.succeed("sh", "-c", command)
    assert environment.doctor().returncode == 0
