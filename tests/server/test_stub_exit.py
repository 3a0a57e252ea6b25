"""The interpreter's end with a stream of the raw stub left open (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

import sys
from typing import Any

from tests.server.own_interpreter import script

#: A thread stopped inside the stream, as any of its own may be. It must not refer to __main__,
#: which would keep the responses from being dropped at all.
SCRIPT = """
import queue, sys, threading, time
import grpc
from tests.server.stub_cases import simple_request
from tensorrtserver.api import grpc_service_pb2_grpc

def hold(lock):
    space = {"lock": lock, "held": threading.Event(), "time": time}
    exec("def inside():\\n  with lock:\\n    held.set()\\n    time.sleep(600)", space)
    threading.Thread(target=space.pop("inside"), daemon=True).start()
    assert space["held"].wait(30)

requests = queue.Queue()
stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(sys.argv[1]))
responses = stub.StreamInfer(iter(requests.get, None))
requests.put(simple_request(1))
print(next(responses).meta_data.id)
if sys.argv[2] == "held":
    hold(responses._responses._flow._changed)
"""


def test_an_open_stream_does_not_keep_the_interpreter(triton: Any) -> None:
    """A stream dropped when its threads have stopped, one with a lock, is left as it is."""
    for held in ("free", "held"):
        assert script(SCRIPT, triton.grpc, held, paths=sys.path) == (0, "1\n", "")
