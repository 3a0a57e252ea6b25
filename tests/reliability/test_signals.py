"""Signals during each call that waits: handled at once, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.own_interpreter import command, environment
from tests.relays import Relay
from tests.reliability.amounts import some
from tests.reliability.identified_calls import KINDS

PROGRAM = Path(__file__).with_name("signal_program.py")
INTERRUPTING = ("SIGINT default", "SIGTERM raises", "SIGINT raises", "SIGTERM default")
ANSWERED = (*INTERRUPTING, "SIGTERM returns", "SIGINT returns")
#: Each call that waits, its contexts, and the effects of a signal.
CALLS = {
    "run": (("http", "grpc", "stream"), ANSWERED),
    "fetch": (("stream", "http", "grpc"), ANSWERED),
    "ready": (("grpc", "stream", "http"), ANSWERED),
    "close": (("grpc", "stream"), ANSWERED),
    "queue": (("stream",), INTERRUPTING),
    "constructor": (("http", "grpc", "stream"), INTERRUPTING),
    "health": (("grpc", "http"), INTERRUPTING),
}


def interrupted(triton: Any, kind: str, call: str, way: str) -> tuple[int, str]:
    """Return exit status and stderr of the program that waits in this call."""
    protocol, streaming = KINDS[kind]
    url = triton.url(protocol)
    with Relay(url) as relay, subprocess.Popen(
        command(PROGRAM, url, relay.address, protocol, streaming, call, way),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None and program.stdout is not None
        limit = threading.Timer(90, program.kill)
        limit.start()
        if program.stdout.readline():  # it requests silence
            relay.flows.clear()
            program.stdin.write("\n")
            program.stdin.flush()
        complaint = program.communicate()[1]
        limit.cancel()
        return program.returncode, complaint


@pytest.mark.parametrize("call", CALLS)
def test_signal(call: str, triton: Any) -> None:
    """The call ends or continues as the handler says. The context and its requests stay usable."""
    kinds, ways = CALLS[call]
    turn = list(CALLS).index(call)
    cells = [(kinds[n % len(kinds)], way) for n, way in enumerate(ways)]
    cells += [(kind, way) for kind in kinds for way in ways if (kind, way) not in cells]
    for kind, way in some(cells, "signals in each waiting call", turn):
        expected = -signal.SIGTERM if way == "SIGTERM default" else 3
        assert interrupted(triton, kind, call, way) == (expected, ""), (kind, way)
