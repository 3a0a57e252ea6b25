"""``doctor``: who owns ``tensorrtserver/``, and the versions that lie beside it."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib import metadata
from typing import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tritonclient_shim import __version__, installation
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding

#: Distribution → what it must be, and what the suite runs on (README.md, "Supported versions").
SUPPORTED: dict[str, tuple[str, str]] = {
    "Python": (">=3.8", "<3.14"),
    "tritonclient": (">=2.40", "<2.74"),
    "numpy": (">=1.20", "<3"),
    "protobuf": (">=3.20", "<7"),
    "grpcio": (">=1.41", "<2"),
    "deprecation": (">=2", "<3"),
}


def ownership() -> Iterator[Finding]:
    """Where ``tensorrtserver`` is imported from, and every folder that mixes two owners."""
    found = importlib.util.find_spec("tensorrtserver")
    place = os.path.dirname(found.origin or "") if found else ""
    beside = os.path.join(os.path.dirname(place), "tritonclient_shim")
    if not place:
        yield Finding(WRONG, "tensorrtserver is not importable: pip install tritonclient-shim")
    elif os.path.isdir(beside):
        yield Finding(OK, f"tensorrtserver is tritonclient-shim's {__version__}, in {place}")
    else:
        yield Finding(WRONG, f"tensorrtserver in {place} is not tritonclient-shim's")
    for text in installation.check():
        yield Finding(WRONG, text)
    old = _version("tensorrtserver")
    if old:
        yield Finding(
            WRONG,
            f"NVIDIA's distribution tensorrtserver {old} is installed: "
            f"{'; '.join(installation.REMEDY)}",
        )


def versions() -> Iterator[Finding]:
    """Each distribution against what is supported."""
    for name, (least, newest) in SUPPORTED.items():
        version = platform.python_version() if name == "Python" else _version(name)
        yield _judged(name, version, least, newest)


def _judged(name: str, version: str, least: str, newest: str) -> Finding:
    if not version:
        return Finding(WRONG, f"{name} is not installed: pip install '{name}{least}'")
    if not SpecifierSet(least).contains(Version(version), prereleases=True):
        return Finding(WRONG, f"{name} {version} is too old: {least} is needed")
    if not SpecifierSet(newest).contains(Version(version), prereleases=True):
        return Finding(NOTE, f"{name} {version} is newer than what is tested ({newest})")
    return Finding(OK, f"{name} {version}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
