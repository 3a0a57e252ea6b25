"""The server environment is made once, by one process, and made again when it is not whole."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

from testbed import environment
from testbed.environment import Environment
from testbed.generations import Generation
from testbed.missing import MissingPrerequisite
from testbed.prerequisites import Facts


class Maker:
    """Stands for the installation, which needs a network: makes what it leaves on disk."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(
        self, folder: Path, facts: Facts, generation: Generation, complete: bool
    ) -> Environment:
        self.made.append(folder.name)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()
        found = {"python": str(folder / "bin" / "python"), "libpython_dir": str(folder)}
        (folder / "complete.json").write_text(json.dumps(found), "utf-8")
        return Environment(**found)


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """An empty cache folder and a quick installation."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    maker = Maker()
    monkeypatch.setattr(environment, "_make", maker)
    monkeypatch.setattr(environment, "gather", lambda: None)  # asks every interpreter: seconds
    return maker


def test_made_once(maker: Maker) -> None:
    """The second call finds what the first one made."""
    assert environment.prepare() == environment.prepare()
    assert len(maker.made) == 1


def test_two_at_once_make_one(maker: Maker) -> None:
    """Callers that come at the same time wait for the one that installs."""
    threads = [threading.Thread(target=environment.prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(maker.made) == 1


def test_interrupted_installation_is_made_again(maker: Maker) -> None:
    """A folder without its final mark does not count."""
    made = Path(environment.prepare().python).parents[1]
    (made / "complete.json").unlink()
    environment.prepare()
    assert len(maker.made) == 2


def test_new_versions_make_a_new_one(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of Triton is another folder."""
    environment.prepare()
    monkeypatch.setenv("TESTBED_TRITON", "0.2.0")
    environment.prepare()
    assert len(set(maker.made)) == 2


def test_copied_checkout_makes_its_own(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a copied checkout names its original and is not used."""
    environment.prepare()
    shutil.copytree(tmp_path / "cache", tmp_path / "copy")
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "copy"))
    assert environment.prepare().python.startswith(str(tmp_path / "copy"))


def test_removed_interpreter_is_noticed(maker: Maker) -> None:
    """An environment whose Python is gone is made again."""
    Path(environment.prepare().python).unlink()
    environment.prepare()
    assert len(maker.made) == 2


def test_git_ignores_the_cache(maker: Maker, tmp_path: Path) -> None:
    """The cache folder ignores itself, wherever it is."""
    environment.prepare()
    assert (tmp_path / "cache" / ".gitignore").read_text("utf-8") == "*\n"


def test_unwritable_cache_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder and the variable that names another one."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(MissingPrerequisite, match="TESTBED_CACHE"):
        environment.prepare()


def test_path_with_a_space_is_named(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server would hang in such a folder: said before anything is downloaded."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "my repo"))
    with pytest.raises(MissingPrerequisite, match="my repo.*TESTBED_CACHE"):
        environment.prepare()
    assert maker.made == []
