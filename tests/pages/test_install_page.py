"""docs/install.md: each way to install works, and each repair of a mixture works."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from tests.installation import distributions
from tests.installation.environments import Environment, star_names_here
from tests.pages.blocks import environment, execute, sections

pytestmark = pytest.mark.release  # an environment for each test

PAGE = sections("docs/install.md")


def ours(where: Environment, wheel: Path) -> None:
    where.install("--no-index", str(wheel))


def nvidias(where: Environment, _wheel: Path) -> None:
    where.install("--no-index", str(distributions.nvidias()))


def nvidias_removed(where: Environment, _wheel: Path) -> None:
    where.pip("uninstall", "--quiet", "-y", "tensorrtserver")


#: The steps that prepare the environment for the commands of a section.
BEFORE: dict[str, tuple[Callable[[Environment, Path], None], ...]] = {
    "From a wheel": (),
    "From a checkout": (),
    "A smaller installation": (),
    "Is it in order?": (ours,),
    "NVIDIA's first, ours over it": (nvidias, ours),
    "Ours first, NVIDIA's over it": (ours, nvidias),
    "NVIDIA's was removed afterwards": (ours, nvidias, nvidias_removed),
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return our wheel."""
    return distributions.wheel_under_test(tmp_path_factory.mktemp("ours"))


def places(folder: Path) -> dict[str, str]:
    """Return the paths of this machine by the paths of the page."""
    checkout = distributions.checkout(folder / "source")
    return {"path/to/this/checkout": str(checkout)}


@pytest.mark.parametrize("title", BEFORE)
def test_afterwards_all_is_well(tmp_path: Path, wheel: Path, title: str) -> None:
    """After the commands of a section, the star import works. The doctor reports no error."""
    where = environment(tmp_path / "environment")
    for step in BEFORE[title]:
        step(where, wheel)
    execute(PAGE[title], where, places(tmp_path))
    assert where.star_names().stdout == star_names_here()
    done = where.doctor()
    assert done.returncode == 0, done.stdout


def test_an_environment(tmp_path: Path) -> None:
    """The commands make and activate an environment with its own pip."""
    where = environment(tmp_path / "environment")
    (version,) = execute(PAGE["An environment"], where, {})[-1:]
    assert str(where.folder / "work" / "my-environment") in version


def test_removal(tmp_path: Path, wheel: Path) -> None:
    """The commands remove NVIDIA's package, and later ours completely."""
    where = environment(tmp_path / "environment")
    nvidias(where, wheel)
    execute(PAGE["NVIDIA's package goes first"], where, {})
    ours(where, wheel)
    execute(PAGE["Removing it"], where, {})
    assert "No module named 'tensorrtserver'" in where.star_names().stderr
    assert list(where.site.glob("tensorrtserver*")) == []


def test_every_section_is_typed() -> None:
    """A test runs the commands of every section."""
    others = {"An environment", "NVIDIA's package goes first", "Removing it"}
    assert set(PAGE) == {*BEFORE, *others}
