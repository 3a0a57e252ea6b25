"""The demo's legacy scripts, which know nothing of this project, run on the real server."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

from demo.programs import MODELS, PROGRAMS, Program, complaints
from testbed import TritonServer

DEMO = Path(__file__).resolve().parents[2] / "demo"

RUNS = [
    pytest.param(program, protocol, id="-".join((program.script, *program.options[:1], protocol)))
    for program in PROGRAMS
    for protocol in program.protocols
]


@pytest.fixture(scope="module")
def server() -> Iterator[TritonServer]:
    """Yield a server of its own. The shared one may not be ready after a failed load."""
    with TritonServer.start(models=MODELS) as started:
        yield started


def run(program: Program, url: str, protocol: str) -> tuple[int, str]:
    """Return a script's exit status and everything it prints."""
    script = str(DEMO / "legacy" / program.script)
    done = subprocess.run(
        [sys.executable, script, "-u", url, "-i", protocol, *program.options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(("program", "protocol"), RUNS)
def test_script_prints_what_it_should(
    server: TritonServer, program: Program, protocol: str
) -> None:
    """Each script ends with status 0 and prints the right results, on each of its protocols."""
    status, output = run(program, server.url(protocol), protocol)
    assert not complaints(program, protocol, status, output), output


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("script", ["add_sub_client.py", "string_client.py"])
def test_script_runs_against_bound_functions(pytriton: Any, script: str, protocol: str) -> None:
    """The same scripts, unchanged, on functions that PyTriton serves."""
    program = next(program for program in PROGRAMS if program.script == script)
    status, output = run(program, pytriton.url(protocol), protocol)
    assert not complaints(program, protocol, status, output), output


@pytest.mark.parametrize("path", sorted((DEMO / "legacy").glob("*.py")), ids=lambda path: path.name)
def test_script_knows_nothing_of_us(path: Path) -> None:
    """The scripts import what scripts of 2019 could import, and each one is run."""
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


def test_failures_are_noticed() -> None:
    """A wrong exit status and a missing line are both reported, each by what was wanted."""
    program = Program("x.py", "", ("1 + 1 = 2",))
    assert complaints(program, "http", 0, "1 + 1 = 2\nPASS\n") == []
    texts = complaints(program, "http", 1, "1 + 1 = 3\n")
    assert [text.split(" over http ")[1] for text in texts] == [
        "ended with exit status 1",
        "did not print '1 + 1 = 2'",
        "did not print 'PASS'",
    ]
