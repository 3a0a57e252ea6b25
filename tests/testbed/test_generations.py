"""Which Triton is started, and which of the other servers' environments are used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed import environment, generations, open_environment, own_python
from testbed.distribution import Distribution
from testbed.interpreters import Interpreter
from testbed.made_once import VirtualEnvironment
from testbed.missing import MissingPrerequisite
from testbed.open_environment import KSERVE, MLSERVER, Recipe
from testbed.prerequisites import Facts, choose_of

DEBIAN_12 = Distribution("debian", "12", "Debian GNU/Linux 12 (bookworm)")
PACKAGED = Interpreter("/usr/bin/python3.11", "3.11", None)
NEW = Interpreter("/usr/bin/python3.14", "3.14", None)
NO_VENV = Interpreter("/usr/bin/python3.10", "3.10", None, has_venv=False)
RECIPES = pytest.mark.parametrize("recipe", [MLSERVER, KSERVE], ids=lambda one: one.name)


def machine(*found: Interpreter) -> Facts:
    """A Debian 12 with these interpreters."""
    return Facts("Linux", "x86_64", "glibc", (2, 36), found, True, DEBIAN_12)


def test_the_newest_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable, or with an empty one, the newest is started."""
    monkeypatch.delenv("TESTBED_TRITON", raising=False)
    assert generations.chosen() is generations.NEWEST
    monkeypatch.setenv("TESTBED_TRITON", "")
    assert generations.chosen() is generations.NEWEST
    monkeypatch.setenv("TESTBED_TRITON", "0.4.2")
    assert generations.chosen().triton == "2.39"


def test_unknown_version_names_the_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that is not in the table is named with those that are."""
    monkeypatch.setenv("TESTBED_TRITON", "2.33")
    with pytest.raises(MissingPrerequisite, match="'2.33'.*0.2.0, 0.4.2, 0.5.14, 0.7.0"):
        environment.prepare()


def test_oldest_says_which_python_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton 2.33 runs models on Python 3.8 alone; nothing else is fetched for it."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.setenv("TESTBED_TRITON", "0.2.0")
    monkeypatch.setattr(environment, "gather", lambda: machine(PACKAGED))
    with pytest.raises(MissingPrerequisite) as caught:
        environment.prepare()
    text = str(caught.value)
    assert "need Python 3.8 with venv" in text
    assert "/usr/bin/python3.11, Python 3.11: another version" in text
    assert "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install 3.8" in text


@RECIPES
def test_a_packaged_python_will_do(recipe: Recipe) -> None:
    """Without a shared library, but not without venv, and not a later one than they have."""
    assert choose_of(machine(NEW, NO_VENV, PACKAGED), recipe.pythons) is PACKAGED
    assert choose_of(machine(NEW, NO_VENV), recipe.pythons) is None
    assert own_python.VERSION in recipe.pythons


@RECIPES
def test_tests_are_left_out_with_the_reason(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is not installed is named, with the command that installs it."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.delenv("TESTBED_OPEN_SERVERS", raising=False)
    reason = open_environment.reason_to_skip(recipe)
    assert recipe.requirements[0] in reason
    assert "scripts/test --env open-servers" in reason
    monkeypatch.setenv("TESTBED_OPEN_SERVERS", "1")
    assert open_environment.reason_to_skip(recipe) == ""


def test_an_installed_server_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is tested without being asked for."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.delenv("TESTBED_OPEN_SERVERS", raising=False)
    python = tmp_path / KSERVE.folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / KSERVE.folder / "complete.json").write_text(
        json.dumps({"python": str(python)}), "utf-8"
    )
    assert open_environment.reason_to_skip(KSERVE) == ""
    assert open_environment.prepare(KSERVE) == VirtualEnvironment(str(python))


def test_offline_says_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package index cannot be reached, what pip said is in the message."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(MissingPrerequisite, match="No matching distribution.*kserve==0.21.0"):
        open_environment.prepare(KSERVE)
    assert not (tmp_path / KSERVE.folder / "complete.json").exists()
