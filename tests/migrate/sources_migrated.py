"""Migrate short sources, and run programs before and after."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tritonclient_shim.rewrite.emitted import helper_file
from tritonclient_shim.rewrite.files import Migrated, migrate, with_helpers
from tritonclient_shim.rewrite.options import MigrateOptions

STAR = "from tensorrtserver.api import *\n"
CONTEXT = 'ctx = InferContext("localhost:8001", ProtocolType.GRPC, "simple")\n'


def migrated(source: str, to: str = "", unsafe: bool = True) -> Migrated:
    """Migrate a source and return the result."""
    return migrate("script.py", source.encode(), MigrateOptions(to, unsafe))


def body(source: str, to: str = "", unsafe: bool = True) -> str:
    """Return the statements of a migrated source after its star import, without helpers."""
    text = migrated(STAR + "#---\n" + source, to, unsafe).after.decode()
    return text.partition("#---\n")[2]


def todo(migration: Migrated) -> list[str]:
    """Return ``line:id`` of the uses that are left."""
    return [f"{row.line}:{row.entry.id}" for row, outcome in migration.uses if outcome.todo]


def write(migration: Migrated, script: Path) -> None:
    """Write a migrated script and its module of helpers."""
    script.write_bytes(migration.after)
    for module in with_helpers([replace(migration, path=str(script))]):
        Path(module.path).write_bytes(module.after)


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


def run_with_helpers(folder: Path, name: str, source: str) -> Ran:
    """Run a program in a folder, beside a module of helpers with one name."""
    path, _, text = helper_file(str(folder), [name])
    Path(path).write_bytes(text)
    script = folder / "script.py"
    script.write_text(f"from triton_helpers import {name}\n{source}", "utf-8")
    return run(script)
