"""Migrate short sources, and run programs before and after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Collection, NamedTuple

from tritonclient_shim.migrate.emitted import parts_of
from tritonclient_shim.migrate.files import Migrated, migrate
from tritonclient_shim.migrate.options import MigrateOptions

STAR = "from tensorrtserver.api import *\n"
CONTEXT = 'ctx = InferContext("localhost:8001", ProtocolType.GRPC, "simple")\n'


def migrated(source: str, to: str = "", unsafe: bool = True) -> Migrated:
    """Migrate a source and return the result."""
    return migrate("script.py", source.encode(), MigrateOptions(to, unsafe))


def body(source: str, to: str = "", unsafe: bool = True) -> str:
    """Return the statements of a migrated source after its star import, without helpers."""
    migration = migrated(STAR + "#---\n" + source, to, unsafe)
    text = migration.after.decode().partition("#---\n")[2]
    # they are below an import of the source, if it has one
    for part in parts_of(migration.helpers, migration.helper_facts):
        text = text.replace(f"{part.text}\n", "") if part.source else text
    return text.lstrip("\n")


def todo(migration: Migrated) -> list[str]:
    """Return ``line:id`` of the uses that are left."""
    return [f"{row.line}:{row.entry.id}" for row, outcome in migration.uses if outcome.todo]


def write(migration: Migrated, script: Path) -> None:
    """Write a migrated script."""
    script.write_bytes(migration.after)


class Ran(NamedTuple):
    """How a program ended."""

    status: int
    output: str


def run(script: Path, *arguments: str) -> Ran:
    """Run a program with this interpreter, without notices, and warnings of tritonclient 2.50."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        text=True,
        env={**os.environ, "TRITON_SHIM_WARNINGS": "off"},
    )
    return Ran(done.returncode, done.stdout)


def helpers_text(*names: str, facts: Collection[str] = ()) -> str:
    """Return the text of some helpers and of all that they need, for files with these facts."""
    return "".join(f"{part.text}\n" for part in parts_of(names, frozenset(facts)))


def run_with_helpers(folder: Path, name: str, source: str) -> Ran:
    """Run a program in a folder, below the helper with a name."""
    script = folder / "script.py"
    script.write_text(f"{helpers_text(name)}{source}", "utf-8")
    return run(script)


def check_same(source: str, folder: Path, *arguments: str) -> Ran:
    """Check that a program is rewritten without ``--unsafe``, and ends and prints as before.

    Return how it ended.
    """
    script = folder / "script.py"
    script.write_text(source)
    before = run(script, *arguments)
    assert before.status == 0, before.output
    migration = migrated(source, unsafe=False)
    assert todo(migration) == []
    write(migration, script)
    assert run(script, *arguments) == before
    return before
