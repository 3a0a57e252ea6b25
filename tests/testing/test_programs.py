"""Programs of the old API run unchanged on the server inside their process."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from demo.programs import PROGRAMS, Program, complaints
from tests.testing.models import ALL
from tritonclient_shim import testing

LEGACY = Path(__file__).resolve().parents[2] / "demo" / "legacy"
RUNS = [
    pytest.param(program, protocol, id=f"{program.says[:30]}-{protocol}")
    for program in PROGRAMS
    for protocol in program.protocols
    if program.script not in ("image_client.py", "raw_stub_image_client.py")
]


@pytest.mark.parametrize(("program", "protocol"), RUNS)
def test_demo(
    program: Program,
    protocol: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The demo's scripts print what they print on a real server."""
    with testing.server(ALL) as triton:
        arguments = ["-u", triton.url(protocol), "-i", protocol, *program.options]
        monkeypatch.setattr(sys, "argv", [program.script, *arguments])
        runpy.run_path(str(LEGACY / program.script), run_name="__main__")
    assert not complaints(program, protocol, 0, capsys.readouterr().out)
