"""The clone in which a release is made."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from release import versions
from release.commands import Refused, git, run

#: For commits that nobody will see: those of a rehearsal, where git may know nobody's name.
NOBODY = ("-c", "user.name=rehearsal", "-c", "user.email=rehearsal@example.invalid")


class Clone:
    """A clone of the repository with its uncommitted changes, if there are any, as a commit."""

    def __init__(self, home: Path, root: Path) -> None:
        self.root = root
        self._home = home
        git(home.parent, "clone", "--quiet", str(home), str(root))
        self._copy_changes()
        if git(root, "status", "--porcelain"):
            git(root, "add", "--all")
            git(root, *NOBODY, "commit", "--quiet", "--message", "The working tree")

    def _copy_changes(self) -> None:
        """What is changed or removed in the working tree. Untracked files are the user's own."""
        words = ("ls-files", "-z", "--modified", "--deleted")
        staged = git(self._home, "diff", "-z", "--name-only", "--no-renames", "--cached")
        for name in {*git(self._home, *words).split("\0"), *staged.split("\0")} - {""}:
            source, target = self._home / name, self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(target):
                target.unlink()
            if os.path.lexists(source):
                shutil.copy2(source, target, follow_symlinks=False)

    def release(self, version: str) -> None:
        """Changelog and version, as a commit with a tag."""
        towncrier = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", version]
        run(f"building the changelog of {version}", towncrier, self.root)
        versions.write(self.root, version)
        git(self.root, "add", "--all")
        who = self._identity()
        git(self.root, *who, "commit", "--quiet", "--message", f"Release {version}")
        git(self.root, *who, "tag", "--annotate", f"v{version}", "--message", f"Release {version}")

    def _identity(self) -> tuple[str, ...]:
        """The name and address that the repository commits under, if git knows them."""
        try:
            name = git(self._home, "config", "user.name").strip()
            address = git(self._home, "config", "user.email").strip()
        except Refused:
            return NOBODY
        return ("-c", f"user.name={name}", "-c", f"user.email={address}")

    def tracked(self) -> list[str]:
        """The files of the repository."""
        return git(self.root, "ls-files", "-z").rstrip("\0").split("\0")

    def export(self, folder: Path) -> Path:
        """A copy of the tracked files, in which a build may leave its traces."""
        for name in self.tracked():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.root / name, folder / name, follow_symlinks=False)
        return folder

    def bring_home(self, version: str) -> None:
        """The repository goes forward to the clone's commit, and gets the tag."""
        git(self._home, "fetch", "--quiet", "--no-tags", str(self.root), "HEAD")
        git(self._home, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
        tag = f"refs/tags/v{version}"
        git(self._home, "fetch", "--quiet", "--no-tags", str(self.root), f"{tag}:{tag}")
