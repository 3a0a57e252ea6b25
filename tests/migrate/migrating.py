"""Migrate copies of the legacy programs by the command, and read its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Iterable, NamedTuple

from tests.migrate.running import ROOT, copy
from tests.migrate.table import Program

TODO = "todo"


class Site(NamedTuple):
    """A legacy use of a program, and its outcome."""

    source: str  # of the program
    id: str
    outcome: str
    what: str


class Migration(NamedTuple):
    """A folder with a migrated copy of each program in a folder of its own."""

    folder: Path
    status: int
    err: str
    sites: tuple[Site, ...]

    def of(self, program: Program) -> list[Site]:
        """Return the legacy uses that a program had."""
        return [site for site in self.sites if site.source == program.source]

    def is_complete(self, program: Program) -> bool:
        """True if nothing of v1 is left in a program."""
        return all(site.outcome != TODO for site in self.of(program))


def migrated(programs: Iterable[Program], folder: Path, protocol: str, unsafe: bool) -> Migration:
    """Copy the programs to a folder and migrate them."""
    for program in programs:
        copy(program, folder)
    done = migrate(folder, protocol, unsafe)
    uses = json.loads(done.stdout)["uses"] if done.stdout.startswith("{") else []
    sites = (
        Site(Path(item["file"]).parts[0], item["id"], item["outcome"], item["what"])
        for item in uses
    )
    return Migration(folder, done.returncode, done.stderr, tuple(sites))


def migrate(folder: Path, protocol: str, unsafe: bool) -> subprocess.CompletedProcess[str]:
    """Migrate the files of a folder in place."""
    options = ["--to", protocol, "--write", "--format", "json"]
    command = [sys.executable, "-m", "tritonclient_shim", "migrate", *options]
    return subprocess.run(
        [*command, *(["--unsafe"] if unsafe else []), "."],
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
