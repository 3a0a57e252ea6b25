"""Debian packages without root: downloaded, verified and unpacked into a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from glob import glob
from pathlib import Path
from typing import Sequence

from testbed.missing import MissingPrerequisite
from testbed.progress import run

_KEYS = "/usr/share/keyrings/debian-archive-keyring"


def unpack(packages: Sequence[str], folder: Path, suite: str | None = None) -> None:
    """Unpack packages under ``folder``; raises MissingPrerequisite when that does not work.

    They are those of this system, or with ``suite`` those of another release of Debian, from the
    mirror that this system uses. apt keeps its lists and downloads under ``folder`` meanwhile, so
    neither root nor the system's own package state is needed.
    """
    work = folder / "apt"
    try:
        options = _own_state(work, suite)
        run(["apt-get", *options, "-q", "update"], "apt-get update")
        here = f"cd '{work}' && exec apt-get \"$@\""
        download = ["sh", "-c", here, "sh", *options, "-q", "download", *packages]
        run(download, f"download of {' '.join(packages)}")
        for archive in sorted(glob(str(work / "*.deb"))):
            run(["dpkg", "-x", archive, str(folder)], f"unpacking {Path(archive).name}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _own_state(work: Path, suite: str | None) -> list[str]:
    for name in ("state/lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    options = [f"Dir::State={work}/state", f"Dir::Cache={work}/cache"]
    options += ["Acquire::Languages=none"]  # no translations of package descriptions
    # apt drops to the user _apt for downloads, who cannot write into this folder
    options += ["APT::Sandbox::User=root", f"Dir::State::status={work}/state/status"]
    if suite is None:
        shutil.copy("/var/lib/dpkg/status", work / "state" / "status")
    else:
        (work / "state" / "status").touch()  # apt would prefer the version that is installed
        (work / "sources.list").write_text(_source(suite), encoding="utf-8")
        options += [f"Dir::Etc::sourcelist={work}/sources.list", "Dir::Etc::sourceparts=/dev/null"]
    return [part for option in options for part in ("-o", option)]


def _source(suite: str) -> str:
    keys = next((f"{_KEYS}{end}" for end in (".pgp", ".gpg") if os.path.exists(_KEYS + end)), None)
    signed = f"[signed-by={keys}] " if keys else ""
    return f"deb {signed}{_mirror()} {suite} main\n"


def _mirror() -> str:
    """The address from which this system has its packages; raises MissingPrerequisite."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Identifier: Packages"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    sites = [one for one in answer.split() if "security" not in one]
    if not sites:
        raise MissingPrerequisite("apt has no mirror: /etc/apt/sources.list names none")
    return sites[0]
