"""The one version: where it stands, and which ones were released before."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.version import InvalidVersion, Version

from release.commands import Refused

HOME = "tritonclient_shim/__init__.py"
_LINE = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_SECTION = re.compile(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", re.MULTILINE)


def parse(text: str) -> str:
    """A version as it was typed, or Refused: ``1.2.0``, but not ``v1.2.0`` or ``1.2.0-rc1``."""
    try:
        normal = str(Version(text))
    except InvalidVersion:
        normal = ""
    if normal != text:
        hint = f"; did you mean {normal}?" if normal else ", such as 0.2.0 or 0.2.0rc1"
        raise Refused(f"{text!r} is no version in its normal form{hint}")
    return text


def current(root: Path) -> str:
    """The version that the packages have."""
    found = _LINE.search((root / HOME).read_text("utf-8"))
    if found is None:
        raise Refused(f'{root / HOME} has no line __version__ = "…"')
    return found[1]


def write(root: Path, version: str) -> None:
    """Set the version."""
    path = root / HOME
    path.write_text(_LINE.sub(f'__version__ = "{version}"', path.read_text("utf-8")), "utf-8")


def released(root: Path) -> list[str]:
    """The versions that the changelog knows, the latest first."""
    return _SECTION.findall((root / "CHANGELOG.md").read_text("utf-8"))


def following(root: Path) -> str:
    """What to rehearse when no version is named: the current one until its release, or the next."""
    now = current(root)
    if now not in released(root):
        return now
    parts = Version(now).release
    return ".".join(map(str, (*parts[:-1], parts[-1] + 1)))


def must_follow(root: Path, version: str) -> None:
    """Refused unless a version is later than all in the changelog."""
    before = released(root)
    if before and Version(version) <= max(map(Version, before)):
        raise Refused(f"{version} is not later than {before[0]}, which was released already")
