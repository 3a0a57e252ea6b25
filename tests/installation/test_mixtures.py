"""NVIDIA's wheel and ours in one environment: the printed commands repair it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable

import pytest

from tests.installation import distributions
from tests.installation.environments import Environment, commands, star_names_here

pytestmark = pytest.mark.release  # an environment for each test

State = Callable[["Mixture"], None]


class Mixture:
    """An environment, and the wheels that a test installs in some order."""

    def __init__(self, folder: Path, wheel: Path, nvidias: Path) -> None:
        # a path with a space, so printed commands need quotes
        self.place = folder / "a place" / wheel.name
        self.place.parent.mkdir()
        shutil.copy(str(wheel), str(self.place))
        self.environment = Environment(folder / "an environment")
        self._nvidias = nvidias

    def ours(self) -> None:
        self.environment.install("--no-index", str(self.place))

    def nvidias(self) -> None:
        self.environment.install("--no-index", str(self._nvidias))

    def remove(self, name: str) -> None:
        self.environment.pip("uninstall", "--quiet", "-y", name)

    def lose(self, *names: str) -> None:
        for name in names:
            (result,) = self.environment.site.glob(name)
            shutil.rmtree(str(result)) if result.is_dir() else result.unlink()


def ours_over_nvidias(mixture: Mixture) -> None:
    mixture.nvidias()
    mixture.ours()


def nvidias_over_ours(mixture: Mixture) -> None:
    mixture.ours()
    mixture.nvidias()


def nvidias_over_ours_and_removed(mixture: Mixture) -> None:
    nvidias_over_ours(mixture)
    mixture.remove("tensorrtserver")


def ours_over_nvidias_which_is_removed(mixture: Mixture) -> None:
    ours_over_nvidias(mixture)
    mixture.remove("tensorrtserver")


def nvidias_removed_by_hand_except_its_libraries(mixture: Mixture) -> None:
    ours_over_nvidias(mixture)
    mixture.lose("tensorrtserver-*.dist-info")


def nvidias_without_its_list_of_files(mixture: Mixture) -> None:
    nvidias_over_ours(mixture)
    mixture.lose("tensorrtserver-*.dist-info/RECORD")


def ours_without_its_first_file(mixture: Mixture) -> None:
    mixture.ours()
    mixture.lose("tensorrtserver/__init__.py")


def ours_without_the_folder(mixture: Mixture) -> None:
    mixture.ours()
    mixture.lose("tensorrtserver")


def ours_without_a_module(mixture: Mixture) -> None:
    mixture.ours()
    mixture.lose("tritonclient_shim/core/ids.py", "tensorrtserver/api/_infer.py")


STATES = (
    ours_over_nvidias,
    nvidias_over_ours,
    nvidias_over_ours_and_removed,
    ours_over_nvidias_which_is_removed,
    nvidias_removed_by_hand_except_its_libraries,
    nvidias_without_its_list_of_files,
    ours_without_its_first_file,
    ours_without_the_folder,
    ours_without_a_module,
)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_what_is_printed_puts_it_right(tmp_path: Path, wheel: Path, state: State) -> None:
    """A star import is complete or fails. The printed commands repair it."""
    mixture = Mixture(tmp_path, wheel, distributions.nvidias())
    state(mixture)
    environment = mixture.environment
    before, result = environment.star_names(), environment.doctor()
    assert before.returncode == 1 or "InferContext" in before.stdout
    assert (result.returncode, result.stderr) == (1, ""), result.stdout
    printed = commands(before.stderr.partition("ImportError: ")[2])
    assert printed in ([], commands(result.stdout))
    for command in commands(result.stdout):
        environment.succeed("sh", "-c", command)
    after, healed = environment.star_names(), environment.doctor()
    assert (after.stdout, after.returncode) == (star_names_here(), 0), after.stderr
    assert healed.returncode == 0, healed.stdout
