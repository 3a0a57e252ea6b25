"""The commands and files of a documentation page, and how a test executes them.

A block ``sh`` has a command per line. Each must succeed, unless ``# exits with N`` follows it. A
block ``python`` whose first line is ``# name.py`` is the file of that name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Mapping

from tests.installation.environments import Environment

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.py)\n")
_STATUS = re.compile(r"# exits with (\d+)")


def text(page: str) -> str:
    """Return a page of the repository."""
    return (ROOT / page).read_text("utf-8")


def sections(page: str) -> dict[str, str]:
    """Return the texts of a page by the titles before them, without texts that have no block."""
    parts = re.split(r"^#+ (.+)$", text(page), flags=re.MULTILINE)
    return {title: body for title, body in zip(parts[1::2], parts[2::2]) if _BLOCK.search(body)}


def environment(folder: Path, **variables: str) -> Environment:
    """Return an environment whose programs come first. Its ``pip`` installs no dependencies."""
    place = Environment(folder)
    programs = folder / "bin"
    (programs / "pip").write_text(f'#!/bin/sh\nexec "{place.python}" -m pip "$@"\n', "utf-8")
    (programs / "pip").chmod(0o755)
    place.variables = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "PIP_NO_DEPS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **variables,
    }
    return place


def execute(body: str, where: Environment, instead: Mapping[str, str]) -> list[str]:
    """Replace some words of a text, write its files and run its commands. Return the outputs."""
    outputs = []
    for kind, code in _BLOCK.findall(body):
        for word, place in instead.items():
            code = code.replace(word, place)
        if kind == "python":
            name = _FILE.match(code)
            assert name, f"the block names no file:\n{code}"
            (where.folder / "work" / name[1]).write_text(code, "utf-8")
        elif kind == "sh":
            outputs += _commands(code, where)
    return outputs


def _commands(code: str, where: Environment) -> list[str]:
    outputs, lasting = [], ""
    for line in code.splitlines():
        if line.startswith(("export ", ". ")):
            lasting += f"{line}\n"
            continue
        expected = _STATUS.search(line)
        done = where.run("sh", "-c", lasting + line)
        wanted = int(expected[1]) if expected else 0
        assert done.returncode == wanted, f"{line}\n{done.stdout}\n{done.stderr}"
        outputs.append(str(done.stdout))
    return outputs
