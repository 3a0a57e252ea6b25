"""Outages and the end of the interpreter, each with its own processes."""

from __future__ import annotations

from queue import Queue
from typing import Any

import pytest

from testbed import TritonServer
from testbed.process import free_ports
from tests.backends.contract_calls import simple
from tests.own_interpreter import run_program
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import GRPC, Endpoint, InferReply

PRELUDE = """
import sys, threading
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.model import GRPC, Endpoint, InferCall, OutputSpec, TensorIn
import numpy as np
backend = open_backend(Endpoint(GRPC, sys.argv[1]))
def call(seconds):
    data = np.array([seconds], dtype=np.float32)
    return InferCall("slow", "", (TensorIn("INPUT0", "FP32", (1,), (data,), 4),),
                     (OutputSpec("OUTPUT0"),), "1")
"""
IDLE = "stream = backend.open_stream(lambda *_: None, lambda _: None)"
WAIT = """
answered = threading.Event()
stream = backend.open_stream(lambda *_: answered.set(), lambda _: answered.set())
stream.send(call(0.0))
assert answered.wait(10)
"""
EXITS = {
    "after calls": "backend.infer(call(0.0))",
    "with a live client": "client = backend.client(); client.is_server_live()",
    "unary pending": "backend.infer_async(call(20.0), print); backend.live()",
    "stream idle": IDLE + "\nbackend.live()",
    "stream used": WAIT,
    "stream pending": WAIT + "stream.send(call(20.0))\nbackend.live()",
    "stream in a cycle": IDLE + "\nstream.self = stream; del stream",
    "several": IDLE + "\nmore = [backend.open_stream(print, lambda _: None) for _ in range(5)]",
}


def run_script(body: str, *arguments: str) -> tuple[int, str]:
    """Run PRELUDE and ``body`` in an interpreter, within 15 s. Return exit status and stderr."""
    ended = run_program(PRELUDE + body, *arguments, within=("timeout", "-k", "1", "15"))
    return ended.status, ended.stderr


@pytest.mark.parametrize("body", EXITS.values(), ids=EXITS.keys())
def test_the_interpreter_ends(triton: TritonServer, body: str) -> None:
    """Calls and streams left open do not disturb the end of a script."""
    # docs/v1-behaviour.md §5
    assert run_script(body, triton.grpc) == (0, "")


def test_the_interpreter_ends_though_the_server_died(start_triton: Any) -> None:
    """A dead server does not keep a script from ending."""
    server = start_triton(models=["slow"])
    body = WAIT + (
        "stream.send(call(20.0))\nimport os, signal; os.killpg(int(sys.argv[2]), signal.SIGKILL)\n"
    )
    assert run_script(body, server.grpc, str(server.pid)) == (0, "")


def test_the_first_call_after_an_outage_works(start_triton: Any) -> None:
    """The next call reaches a restarted server without back-off, whatever failed before.

    v1's channel failed for some seconds.

    (docs/v1-behaviour.md §9.2)
    """
    port = free_ports()[0]
    backend = open_backend(Endpoint(GRPC, f"127.0.0.1:{port}"))
    outcomes: Queue[Any] = Queue()
    backend.infer_async(simple(), outcomes.put)
    assert isinstance(outcomes.get(timeout=10), TransportError)
    for _ in range(5):
        with pytest.raises(TransportError, match="Connect Failed"):
            backend.live()
    start_triton(models=["simple"], extra_args=[f"--grpc-port={port}"])
    assert isinstance(backend.infer(simple()), InferReply)
