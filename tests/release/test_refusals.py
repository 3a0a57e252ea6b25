"""A release that could not end well is refused before anything is done, and says why."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from tests.release.scratch import git, release, repository


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A repository that could be released."""
    return repository(tmp_path / "home")


def change(home: Path) -> None:
    (home / "README.md").write_text("changed", "utf-8")


def tag(home: Path) -> None:
    git(home, "tag", "v0.1.0")


def no_news(home: Path) -> None:
    git(home, "rm", "--quiet", "newsfragments/+begun.feature.md")
    git(home, "commit", "--quiet", "--message", "None")


def nothing(_home: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("version", "before", "says"),
    [
        ("0.1.0", change, "the working tree has changes: commit them, or put them away"),
        ("0.1.0", tag, "the tag v0.1.0 exists already"),
        ("0.1.0", no_news, "newsfragments/ has no fragment, so there is nothing to release"),
        ("0.0.9", nothing, "0.0.9 is not later than 0.0.9, which was released already"),
        ("v0.1.0", nothing, "'v0.1.0' is no version in its normal form; did you mean 0.1.0?"),
        ("next", nothing, "'next' is no version in its normal form, such as 0.2.0"),
    ],
)
def test_refused(home: Path, version: str, before: Callable[[Path], None], says: str) -> None:
    """Status 1, the reason, no traceback; commit, tags and files are as they were."""
    before(home)
    state = everything(home)
    done = release(home, version)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert says in done.stderr
    assert everything(home) == state


def everything(home: Path) -> list[str]:
    """What a release could change."""
    return [git(home, *words) for words in (["status", "--short"], ["log"], ["tag"])]


def test_a_release_needs_a_version(home: Path) -> None:
    """Without a version only a rehearsal works, and the message says so."""
    done = release(home)
    assert done.returncode == 2
    assert "which version? Only --dry-run works without one" in done.stderr


def test_a_failing_step_shows_its_command(home: Path) -> None:
    """The command and all its output are shown, and the repository is as it was."""
    (home / "pyproject.toml").write_text("not TOML", "utf-8")
    git(home, "add", "--all")
    git(home, "commit", "--quiet", "--message", "Broken")
    state = everything(home)
    done = release(home, "0.1.0")
    assert done.returncode == 1
    assert "building the changelog of 0.1.0 failed (exit 1):\n    " in done.stderr
    assert " -m towncrier build --yes --version 0.1.0\n\n" in done.stderr
    assert everything(home) == state
