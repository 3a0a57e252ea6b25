"""The demo's legacy scripts know nothing of this project. ``test_demo.py`` runs them on Triton."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from demo.programs import PROGRAMS, Program, complaints

DEMO = Path(__file__).resolve().parents[2] / "demo"


def run(program: Program, url: str, protocol: str) -> tuple[int, str]:
    """Run a script, and return its exit status and its output."""
    script = str(DEMO / "legacy" / program.script)
    done = subprocess.run(
        [sys.executable, script, "-u", url, "-i", protocol, *program.options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("script", ["add_sub_client.py", "string_client.py"])
def test_script_runs_against_bound_functions(pytriton: Any, script: str, protocol: str) -> None:
    """The unchanged scripts run on functions that PyTriton serves."""
    program = next(program for program in PROGRAMS if program.script == script)
    status, output = run(program, pytriton.url(protocol), protocol)
    assert not complaints(program, protocol, status, output), output


@pytest.mark.parametrize("path", sorted((DEMO / "legacy").glob("*.py")), ids=lambda path: path.name)
def test_script_knows_nothing_of_us(path: Path) -> None:
    """The scripts import only modules of 2019, and the demo runs each script."""
    names = {
        (node.module or "." if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert names <= {
        *("argparse", "builtins", "functools", "grpc", "numpy", "queue", "Queue"),
        *("sys", "tensorrtserver"),
    }
    assert path.name in {program.script for program in PROGRAMS}
