"""The clone in which a release is made: what it starts from, and what comes home."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.clone import Clone
from release.commands import Refused
from tests.release.scratch import git, repository


def test_the_working_tree_is_rehearsed(tmp_path: Path) -> None:
    """Changed, staged and removed files are in the clone; untracked and ignored ones are not."""
    home = repository(tmp_path / "home")
    (home / "README.md").write_text("changed", "utf-8")
    (home / "notes.log").write_text("a user's own file", "utf-8")
    (home / "staged.md").write_text("staged", "utf-8")
    git(home, "add", "staged.md")
    (home / "CHANGELOG.md").unlink()
    git(home, "rm", "--quiet", "newsfragments/+begun.feature.md")
    (home / "dist").mkdir()
    (home / "dist" / "old.whl").touch()
    clone = Clone(home, tmp_path / "clone")
    assert (clone.root / "README.md").read_text("utf-8") == "changed"
    tracked = set(clone.tracked())
    assert "staged.md" in tracked
    gone = {"CHANGELOG.md", "newsfragments/+begun.feature.md"}
    assert not {*gone, "notes.log", "dist/old.whl"} & tracked
    assert git(clone.root, "status", "--porcelain") == ""


def test_home_goes_forward(tmp_path: Path) -> None:
    """The repository gets the clone's commit and its tag, and nothing before that."""
    home = repository(tmp_path / "home")
    clone = Clone(home, tmp_path / "clone")
    assert clone.tracked() == git(home, "ls-files").split()
    (clone.root / "README.md").write_text("released", "utf-8")
    git(clone.root, "commit", "--quiet", "--all", "--message", "Release 0.1.0")
    git(clone.root, "tag", "--annotate", "v0.1.0", "--message", "Release 0.1.0")
    assert git(home, "tag") == ""
    clone.bring_home("0.1.0")
    assert (home / "README.md").read_text("utf-8") == "released"
    assert git(home, "describe").strip() == "v0.1.0"
    assert git(home, "status", "--porcelain") == ""


def test_a_repository_that_went_on_is_left_alone(tmp_path: Path) -> None:
    """A commit made meanwhile is not merged over: refused, with git's reason."""
    home = repository(tmp_path / "home")
    clone = Clone(home, tmp_path / "clone")
    for root in (home, clone.root):
        (root / "README.md").write_text(f"in {root.name}", "utf-8")
        git(root, "commit", "--quiet", "--all", "--message", "On")
    before = git(home, "log")
    with pytest.raises(Refused, match="git merge"):
        clone.bring_home("0.1.0")
    assert (git(home, "log"), git(home, "tag")) == (before, "")
