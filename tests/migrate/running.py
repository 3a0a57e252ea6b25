"""Run the legacy programs and their migrated copies, each in a separate folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Mapping, NamedTuple

from tests.migrate.table import Program

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120  # seconds for a program
_GONE = 'raise ImportError("{} is not installed any more")\n'


class Ended(NamedTuple):
    """How a program has ended, and what it printed."""

    status: int
    out: str
    err: str


class Runner(NamedTuple):
    """Runs programs against one server."""

    addresses: Mapping[str, str]  # by protocol
    without: Path  # a folder that hides our packages from migrated programs

    def run(self, program: Program, protocol: str, folder: Path, needs_us: bool = True) -> Ended:
        """Run the copy in a folder. If ``needs_us``, it can import the facade."""
        through = ("-m", "tritonclient_shim", "run") if program.needs_run and needs_us else ()
        done = subprocess.run(
            [
                sys.executable,
                *through,
                program.script,
                *(self._filled(a, protocol) for a in program.arguments),
            ],
            cwd=str(folder),
            env=self._variables(program, protocol, ROOT if needs_us else self.without),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        varies = re.compile(program.varies, re.MULTILINE) if program.varies else None
        out = varies.sub("", done.stdout) if varies else done.stdout
        return Ended(done.returncode, out, done.stderr)

    def _variables(self, program: Program, protocol: str, path: Path) -> dict[str, str]:
        own = {name: self._filled(value, protocol) for name, value in program.variables.items()}
        ours = {"PYTHONPATH": str(path), "TRITON_SHIM_WARNINGS": "off", "PYTHONHASHSEED": "0"}
        return {**os.environ, **ours, **own}

    def _filled(self, text: str, protocol: str) -> str:
        """Return an argument or variable with its placeholders replaced."""
        return text.format(url=self.addresses[protocol], protocol=protocol)


def runner(addresses: Mapping[str, str], folder: Path) -> Runner:
    """Return a runner. Write modules into the folder that hide our packages."""
    for name in ("tensorrtserver", "tritonclient_shim"):
        (folder / f"{name}.py").write_text(_GONE.format(name), "utf-8")
    return Runner(addresses, folder)


def copy(program: Program, folder: Path) -> Path:
    """Copy the program's files to a subfolder of a folder. Return the subfolder."""
    place = folder / program.source
    place.mkdir(parents=True, exist_ok=True)
    for file in program.files:
        shutil.copy(file, place / file.name)
    return place
