"""NVIDIA's own retired client through the gateway, and its environment (``oracle.py``).

``tests/equivalence`` compares everything that this client sees with what the facade does.
"""

from __future__ import annotations

import pytest

from demo.programs import PROGRAMS, Program
from tests.gateway.gateway_process import ROOT, Gateway
from tests.gateway.oracle import OracleEnvironment

#: The genuine client cannot run these: it sends bytes in object arrays as their repr
#: (docs/v1-behaviour.md §3.6), and release 1.11 no longer has the asynchronous API of 1.7
#: (docs/v1-behaviour.md §2.2).
_WORKS_ONLY_HERE = {"string_client.py", "request_id_client.py"}
DEMO = [
    pytest.param(program, protocol, id=f"{program.script}{'_'.join(program.options)}-{protocol}")
    for program in PROGRAMS
    if program.script not in _WORKS_ONLY_HERE
    for protocol in program.protocols
]


@pytest.mark.parametrize(("program", "protocol"), DEMO)
def test_demo(gateway: Gateway, oracle: OracleEnvironment, program: Program, protocol: str) -> None:
    """The demo's programs print with the genuine client what they print with the facade."""
    script = ROOT / "demo" / "legacy" / program.script
    url = getattr(gateway, protocol)
    done = oracle.run(script, "-u", url, "-i", protocol, *program.options)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in (*program.expected, "PASS"):
        assert text in done.stdout
