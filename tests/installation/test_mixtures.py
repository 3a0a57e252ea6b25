"""NVIDIA's wheel and ours in one environment: the printed commands repair it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable, Tuple

import pytest

from tests.installation import distributions
from tests.installation.environments import Environment, commands, star_names_here

pytestmark = pytest.mark.release  # an environment for each test

Step = Callable[["Mixture"], None]
State = Tuple[Tuple[Step, ...], Tuple[str, ...]]


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

    def remove_nvidias(self) -> None:
        self.environment.pip("uninstall", "--quiet", "-y", "tensorrtserver")

    def lose(self, *names: str) -> None:
        for name in names:
            (result,) = self.environment.site.glob(name)
            shutil.rmtree(str(result)) if result.is_dir() else result.unlink()


OURS, NVIDIAS = Mixture.ours, Mixture.nvidias

#: Name of a state → what is installed in order, and what is lost afterwards.
STATES: dict[str, State] = {
    "ours over NVIDIA's": ((NVIDIAS, OURS), ()),
    "NVIDIA's over ours": ((OURS, NVIDIAS), ()),
    "NVIDIA's over ours, and removed": ((OURS, NVIDIAS, Mixture.remove_nvidias), ()),
    "ours over NVIDIA's, which is removed": ((NVIDIAS, OURS, Mixture.remove_nvidias), ()),
    "NVIDIA's libraries": ((NVIDIAS, OURS), ("tensorrtserver-*.dist-info",)),
    "NVIDIA's without its list": ((OURS, NVIDIAS), ("tensorrtserver-*.dist-info/RECORD",)),
    "ours without its first file": ((OURS,), ("tensorrtserver/__init__.py",)),
    "ours without the folder": ((OURS,), ("tensorrtserver",)),
    "ours without modules": (
        (OURS,),
        ("tritonclient_shim/session/plan.py", "tensorrtserver/api/_infer.py"),
    ),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_what_is_printed_puts_it_right(tmp_path: Path, wheel: Path, state: State) -> None:
    """A star import is complete or fails. The printed commands repair it."""
    mixture = Mixture(tmp_path, wheel, distributions.nvidias())
    steps, lost = state
    for step in steps:
        step(mixture)
    mixture.lose(*lost)
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
