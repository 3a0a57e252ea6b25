"""What the distributions must hold: the source one every file of the repository, the wheel ours."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path
from typing import Iterable

from release.commands import Refused

#: What building adds.
ADDED = ("PKG-INFO", "tritonclient_shim.egg-info/")
PACKAGES = ("tensorrtserver/", "tritonclient_shim/", "tensorrtserver.py")
ENDINGS = (".py", ".pyi", ".proto", "py.typed", ".md")


def in_sdist(path: Path) -> set[str]:
    """The files of a source distribution, below its one folder."""
    with tarfile.open(path) as archive:
        names = [one.name.partition("/")[2] for one in archive.getmembers() if not one.isdir()]
    return {name for name in names if not name.startswith(ADDED)}


def in_wheel(path: Path) -> set[str]:
    """The files of a wheel, without its metadata."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def compare(what: str, found: set[str], wanted: Iterable[str]) -> None:
    """Refused when a distribution has not exactly the files that it should."""
    missing, strange = sorted(set(wanted) - found), sorted(found - set(wanted))
    if missing or strange:
        raise Refused(
            f"{what} has not what it should: MANIFEST.in and setup.cfg say what goes in.\n"
            f"    missing: {', '.join(missing) or 'nothing'}\n"
            f"    too much: {', '.join(strange) or 'nothing'}"
        )


def check(sdist: Path, wheel: Path, tracked: Iterable[str]) -> None:
    """Refused unless both distributions are complete, and hold nothing else."""
    files = list(tracked)
    compare(sdist.name, in_sdist(sdist), files)
    ours = [name for name in files if name.startswith(PACKAGES) and name.endswith(ENDINGS)]
    compare(wheel.name, in_wheel(wheel), ours)
