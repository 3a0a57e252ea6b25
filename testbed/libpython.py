"""Fetch the shared libpython of a Debian interpreter without root."""

from __future__ import annotations

import os
import shutil
from glob import glob
from pathlib import Path

from testbed.prerequisites import Interpreter, MissingPrerequisite, no_libpython
from testbed.progress import run, say


def fetch(interpreter: Interpreter, folder: Path) -> str:
    """Unpack the package libpython3.Y under ``folder`` → the folder of the library.

    apt keeps its lists and downloads under ``folder`` too, so neither root nor the system's own
    package state is needed. Raises MissingPrerequisite when that does not work.
    """
    package = f"libpython{interpreter.version}"
    say(f"{interpreter.path} has no shared library; fetching the package {package}")
    work = folder / "apt"
    try:
        _download(package, work)
        for archive in glob(str(work / f"{package}_*.deb")):
            run(["dpkg", "-x", archive, str(folder)], f"unpacking {package}")
    except MissingPrerequisite as problem:
        raise MissingPrerequisite(f"{no_libpython(interpreter)}\n{problem}") from problem
    finally:
        shutil.rmtree(work, ignore_errors=True)
    found = glob(str(folder / "usr" / "lib" / "*" / f"{package}.so.1.0"))
    if not found:
        raise MissingPrerequisite(no_libpython(interpreter))
    return os.path.dirname(found[0])


def _download(package: str, work: Path) -> None:
    for name in ("state/lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State={work}/state", "-o", f"Dir::Cache={work}/cache"]
    options += ["-o", "Acquire::Languages=none"]  # no translations of package descriptions
    # apt drops to the user _apt for downloads, who cannot write into this folder
    options += ["-o", "APT::Sandbox::User=root", "-o", f"Dir::State::status={work}/state/status"]
    shutil.copy("/var/lib/dpkg/status", work / "state" / "status")
    run(["apt-get", *options, "-q", "update"], "apt-get update")
    here = f"cd '{work}' && exec apt-get \"$@\""
    run(["sh", "-c", here, "sh", *options, "-q", "download", package], f"download of {package}")
