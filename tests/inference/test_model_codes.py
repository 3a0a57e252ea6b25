"""Models that refuse with codes that gRPC itself uses for a lost connection."""

from __future__ import annotations

from pathlib import Path
from queue import Queue
from typing import Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from testbed import TritonServer
from tests.generation_marks import not_on

pytestmark = not_on("2.33", "has no codes for the errors of a model")

PATIENCE = 20  # seconds
ESTABLISHED = "01"
TEXT = "the store said: Socket closed"
CODES = ("UNAVAILABLE", "UNSUPPORTED", "CANCELLED", "INTERNAL")
Refuse = Callable[[InferContext, str], InferenceServerException]


@pytest.fixture(scope="module")
def refusing() -> Iterator[TritonServer]:
    """Yield a server with a model that refuses every request."""
    with TritonServer.start(models=("refusing",)) as server:
        yield server


def by_run(context: InferContext, code: str) -> InferenceServerException:
    """Return the error of a synchronous request."""
    inputs = {"INPUT0": [np.array([code], dtype=object)]}
    with pytest.raises(InferenceServerException) as caught:
        context.run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
    return caught.value


def by_async_run(context: InferContext, code: str) -> InferenceServerException:
    """Return the error of an asynchronous request."""
    inputs = {"INPUT0": [np.array([code], dtype=object)]}
    outputs = {"OUTPUT0": InferContext.ResultFormat.RAW}
    completed: Queue[int] = Queue()
    context.async_run(lambda _, request_id: completed.put(request_id), inputs, outputs, 1)
    with pytest.raises(InferenceServerException) as caught:
        context.get_async_run_results(completed.get(timeout=PATIENCE))
    return caught.value


def connections(server: TritonServer, protocol: int) -> int:
    """Return the number of this process's connections to the server."""
    port = int(server.url(protocol).rpartition(":")[2])
    remote = f"0100007F:{port:04X}"
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return len([row for row in rows if row[2] == remote and row[3] == ESTABLISHED])


@pytest.mark.parametrize("refuse", [by_run, by_async_run], ids=lambda way: way.__name__)
@pytest.mark.parametrize("code", CODES)
def test_a_model_refuses_in_its_own_words(
    refusing: TritonServer, protocol: int, code: str, refuse: Refuse
) -> None:
    """The refusal of a model has its text and the server's id, whatever its code is."""
    with InferContext(refusing.url(protocol), protocol, "refusing") as context:
        error = refuse(context, code)
    assert TEXT in error.message()
    assert "GRPC client failed" not in error.message()
    assert error.server_id() == "triton"


@pytest.mark.parametrize("code", CODES)
def test_refusals_open_no_connections(refusing: TritonServer, protocol: int, code: str) -> None:
    """Twenty refusals of a model need the connection of the first one."""
    with InferContext(refusing.url(protocol), protocol, "refusing") as context:
        by_run(context, code)
        before = connections(refusing, protocol)
        for _ in range(20):
            by_run(context, code)
        assert connections(refusing, protocol) == before
