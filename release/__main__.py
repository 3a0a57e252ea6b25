"""``scripts/release VERSION [--dry-run] [--keep FOLDER]``: from the fragments to two checked files.

All of it happens in a clone in a temporary folder. Only when everything has passed does the
repository move forward to the clone's commit and get its tag; nothing is ever uploaded.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from release import contents, index_page, installed, versions
from release.clone import Clone
from release.commands import Refused, git, run, say

ROOT = Path(__file__).resolve().parents[1]


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(
        "scripts/release",
        description="Build the changelog, set the version, build sdist and wheel, check them, tag. "
        "Uploads nothing: the last lines say how.",
    )
    parser.add_argument("version", nargs="?", help="such as 0.2.0; --dry-run alone takes the next")
    parser.add_argument("--dry-run", action="store_true", help="change nothing here: a rehearsal")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="put what was made there, too")
    chosen = parser.parse_args()
    if chosen.version is None and not chosen.dry_run:
        parser.error("which version? Only --dry-run works without one")
    return chosen


def refuse_early(version: str) -> None:
    """Refused where a release for good could not end well."""
    if git(ROOT, "status", "--porcelain"):
        raise Refused("the working tree has changes: commit them, or put them away (git stash)")
    if git(ROOT, "tag", "--list", f"v{version}"):
        raise Refused(f"the tag v{version} exists already")
    versions.must_follow(ROOT, version)
    git(ROOT, "var", "GIT_COMMITTER_IDENT")  # whose commit it will be; git says if it cannot tell
    if not list((ROOT / "newsfragments").glob("+*.md")):
        raise Refused("newsfragments/ has no fragment, so there is nothing to release")


def build(sources: Path, folder: Path) -> tuple[Path, Path]:
    """Sources → sdist and wheel, and what twine says of them is only good."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(sources)]
    run("building sdist and wheel", command, folder.parent)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    command = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    run("twine check", command, folder)
    return sdist, wheel


def rehearse(clone: Clone, version: str, work: Path) -> tuple[Path, Path, Path]:
    """All but what takes minutes → sdist, wheel, and the unpacked sdist."""
    if version in versions.released(clone.root):
        say(f"{version} is in the changelog already, which stays as it is")
    else:
        clone.release(version)
    sources = clone.export(work / "sources")
    say(index_page.prepare(sources, version))
    sdist, wheel = build(sources, work / "dist")
    say("comparing their contents with the repository's")
    contents.check(sdist, wheel, clone.tracked())
    installed.alone(wheel, version, work / "alone")
    unpacked = installed.unpack(sdist, work / "unpacked")
    installed.tests_of_files(unpacked)
    return sdist, wheel, unpacked


def finish(clone: Clone, version: str, work: Path) -> None:
    """The repository gets the commit and the tag, and dist/ both files."""
    target = ROOT / "dist"
    target.mkdir(exist_ok=True)
    made = [shutil.copy(path, target) for path in sorted((work / "dist").iterdir())]
    clone.bring_home(version)
    files = " ".join(str(Path(path).relative_to(ROOT)) for path in made)
    print(
        f"Released here: the commit, the tag v{version}, and {files}.\n"
        "Nothing has been uploaded. To publish:\n"
        f"    git push origin HEAD v{version}\n"
        f"    .venv-release/bin/python -m twine upload {files}\n"
        "To take it back before that:\n"
        f"    git tag -d v{version} && git reset --hard HEAD~1"
    )


def main() -> None:
    """Rehearse, or release."""
    chosen = arguments()
    version = versions.parse(chosen.version) if chosen.version else versions.following(ROOT)
    if not chosen.dry_run:
        refuse_early(version)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        work = Path(folder)
        say(f"{'rehearsing' if chosen.dry_run else 'making'} the release of {version}")
        clone = Clone(ROOT, work / "clone")
        sdist, wheel, unpacked = rehearse(clone, version, work)
        if not chosen.dry_run:
            installed.complete(wheel, unpacked, work / "complete")
            run("scripts/check on the release", ["scripts/check"], clone.root)
            finish(clone, version, work)
        if chosen.keep:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            for path in (sdist, wheel, clone.root / "CHANGELOG.md"):
                shutil.copy(path, chosen.keep)
        if chosen.dry_run:
            print(f"{version} can be released: {sdist.name} and {wheel.name} were made and checked")


if __name__ == "__main__":
    try:
        main()
    except Refused as problem:
        sys.exit(f"scripts/release: {problem}")
