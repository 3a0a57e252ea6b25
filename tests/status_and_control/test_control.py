"""ModelControlContext (docs/v1-behaviour.md §6.4)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    ServerStatusContext,
    server_status_pb2,
)
from testbed import TritonServer
from tests.infer_cases import ONE, PATIENCE, wait_for
from tests.reliability.server_process import MODEL, ServerProcess


@pytest.fixture(scope="module")
def server() -> Iterator[TritonServer]:
    """Yield a server with every model in the repository, ``slow`` and ``multi_version`` loaded."""
    with TritonServer.start(["slow", "multi_version"], server_id="inference:0") as started:
        yield started


@pytest.fixture
def control(server: TritonServer, protocol: int) -> Iterator[ModelControlContext]:
    with ModelControlContext(server.url(protocol), protocol) as context:
        yield context


def states(server: Any, protocol: int, name: str) -> dict[int, int]:
    """Return v1's ready state of each version."""
    with ServerStatusContext(server.url(protocol), protocol, name) as context:
        versions = context.get_server_status().model_status[name].version_status
        return {number: version.ready_state for number, version in versions.items()}


def refusal(call: Callable[..., Any], *arguments: Any) -> InferenceServerException:
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments)
    return caught.value


@pytest.mark.smoke
def test_load_and_unload(server: Any, control: ModelControlContext, protocol: int) -> None:
    """load returns when the model is ready, unload when it takes no more requests."""
    # docs/v1-behaviour.md §6.4
    assert control.load("spare") is None
    assert control.get_last_request_id() == 0
    assert states(server, protocol, "spare") == {1: server_status_pb2.MODEL_READY}
    assert control.unload("spare") is None
    assert control.get_last_request_id() == 0
    assert states(server, protocol, "spare")[1] != server_status_pb2.MODEL_READY
    unavailable = {1: server_status_pb2.MODEL_UNAVAILABLE}
    wait_for(lambda: states(server, protocol, "spare") == unavailable)


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yield a server with a model that can delay a request."""
    server = ServerProcess(tmp_path_factory.mktemp("models"))
    yield server
    server.close()


def test_unload_does_not_wait(holding: ServerProcess, protocol: int) -> None:
    """unload returns while requests are still running, and these requests succeed."""
    # docs/v1-behaviour.md §6.4
    url = holding.url(protocol)
    inputs = {"INPUT0": [np.array([7], np.int32)]}
    with ThreadPoolExecutor(1) as threads, InferContext(url, protocol, MODEL) as context:
        holding.hold()
        call = threads.submit(context.run, inputs, ONE)
        holding.wait_for_request()
        with ModelControlContext(url, protocol) as control:
            control.unload(MODEL)
        state = states(holding, protocol, MODEL)[1]
        holding.release()
        assert state == server_status_pb2.MODEL_UNLOADING
        assert call.result(PATIENCE)["OUTPUT0"][0].tolist() == [7]
    unavailable = {1: server_status_pb2.MODEL_UNAVAILABLE}
    wait_for(lambda: states(holding, protocol, MODEL) == unavailable)
    holding.load()


@pytest.mark.parametrize("mode", ["none", "poll"])
def test_not_explicit(start_triton: Callable[..., Any], mode: str) -> None:
    """In polling and none mode load and unload fail with v1's text (docs/v1-behaviour.md §6.4)."""
    server = start_triton(["spare"], model_control_mode=mode, server_id="inference:0")
    for protocol in (0, 1):
        with ModelControlContext(server.url(protocol), protocol) as control:
            for call in (control.load, control.unload):
                error = refusal(call, "spare")
                assert error.message() == (
                    "explicit model load / unload is not allowed if polling is enabled"
                )
                assert (error.server_id(), error.request_id() > 0) == ("inference:0", True)
                assert control.get_last_request_id() is None
