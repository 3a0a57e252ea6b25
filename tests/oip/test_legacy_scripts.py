"""The demo's legacy scripts, unchanged, on the servers that are not Triton."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demo.programs import KSERVE_PROGRAMS, MLSERVER_PROGRAMS, Program, complaints

LEGACY = Path(__file__).resolve().parents[2] / "demo" / "legacy"

RUNS = [
    pytest.param(
        server,
        program,
        protocol,
        id="-".join((server, program.script, *program.options[1:], protocol)),
    )
    for server, programs in (("mlserver", MLSERVER_PROGRAMS), ("kserve", KSERVE_PROGRAMS))
    for program in programs
    for protocol in program.protocols
]


@pytest.mark.parametrize(("server", "program", "protocol"), RUNS)
def test_script_prints_what_it_should(
    request: pytest.FixtureRequest, server: str, program: Program, protocol: str
) -> None:
    """Each script ends with status 0 and prints the right results, on both protocols."""
    url = request.getfixturevalue(server).url(protocol)
    done = subprocess.run(
        [sys.executable, str(LEGACY / program.script), "-u", url, "-i", protocol, *program.options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        text=True,
    )
    assert not complaints(program, protocol, done.returncode, done.stdout), done.stdout
