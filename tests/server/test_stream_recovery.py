"""Streaming contexts after their stream has broken: the next request opens another one."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext, InferenceServerException, ModelControlContext
from testbed import TritonServer
from tests.generation_marks import not_on
from tests.server.infer_cases import (
    END,
    ONE,
    PATIENCE,
    RAW,
    START,
    Completions,
    client_error,
    fp32,
    int32,
    number,
    server_error,
)
from tests.server.infer_proxy import Door

pytest_plugins = ["tests.settings_fixtures", "tests.server.infer_fixtures"]

OUTPUT = {"OUTPUT": RAW}
LOST = (
    "The stream broke in the midst of sequence {0}: which of its requests the server has seen, "
    "and so the state of the sequence there, is unknown. Start it again: send its first request "
    "with FLAG_SEQUENCE_START"
)


def until_it_works(call: Callable[[], Any]) -> Any:
    """What the first call that succeeds returns; each that fails raises v1's client error."""
    for _ in range(int(PATIENCE * 20)):
        try:
            return call()
        except InferenceServerException as error:
            assert str(error.message()).startswith("GRPC client failed: 14: "), error
            threading.Event().wait(0.05)
    return call()


@pytest.fixture
def door(triton: TritonServer) -> Iterator[Door]:
    """A door in front of the session's server."""
    with Door(triton.grpc) as door:
        yield door


def test_next_request(door: Door) -> None:
    """run() and both kinds of async_run() work after a break, on one new stream."""
    with InferContext(door.url, 1, "slow", streaming=True) as context:
        for _ in range(3):
            context.run(fp32(0), ONE)
            threading.Timer(0.15, door.cut).start()
            with pytest.raises(InferenceServerException, match="14: Socket closed"):
                context.run(fp32(1), ONE)
            done = Completions()
            context.async_run(done, fp32(0), ONE)
            assert number(context.get_async_run_results(*done.wait())) == 0
            old = context.async_run(fp32(0), ONE)
            assert number(context.get_async_run_results(old, True)) == 0


def test_callback_of_the_broken_stream_sends(door: Door) -> None:
    """A callback that is told of the break may send the request again from where it is."""
    again = Completions()
    told: list[str] = []

    def resend(context: InferContext, request_id: int) -> None:
        with pytest.raises(InferenceServerException) as caught:
            context.get_async_run_results(request_id)
        told.append(str(caught.value.message()))
        context.async_run(again, fp32(0), ONE)
        assert number(context.run(fp32(0), ONE)) == 0

    with InferContext(door.url, 1, "slow", streaming=True) as context:
        context.run(fp32(0), ONE)
        for _ in range(3):
            context.async_run(resend, fp32(1), ONE)
        threading.Timer(0.15, door.cut).start()
        for request_id in again.wait(3):
            assert number(context.get_async_run_results(request_id)) == 0
    assert told == ["GRPC client failed: 14: Socket closed"] * 3


def test_open_sequence(door: Door) -> None:
    """A sequence that was open is refused by run() and async_run() until it is started again."""
    with InferContext(door.url, 1, "sequence_sum", streaming=True) as context:
        assert number(context.run(int32(5), OUTPUT, 1, START, 9000), "OUTPUT") == 5
        assert number(context.run(int32(1), OUTPUT, 1, START | END, 9001), "OUTPUT") == 1
        door.cut()
        until_it_works(lambda: context.run(int32(1), OUTPUT, 1, START | END, 9002))
        for flags in (0, END):
            with client_error(LOST.format(9000)):
                context.run(int32(6), OUTPUT, 1, flags, 9000)
            with client_error(LOST.format(9000)):
                context.async_run(print, int32(6), OUTPUT, 1, flags)
        with server_error("inference request for sequence 9001 to model 'sequence_sum' must spec"):
            context.run(int32(1), OUTPUT, 1, 0, 9001)
        steps = [(START, 9000), (0, 9000), (END, 9000)]
        sums = [number(context.run(int32(2), OUTPUT, 1, *step), "OUTPUT") for step in steps]
        assert sums == [2, 4, 6]


def test_server_restarted_on_its_port(start_triton: Any) -> None:
    """A server that is killed and started again at its address: requests work, sequences not."""
    models = ["slow", "sequence_sum"]
    server = start_triton(models)
    with InferContext(server.grpc, 1, "sequence_sum", streaming=True) as context:
        with InferContext(server.grpc, 1, "slow", streaming=True) as slow:
            context.run(int32(5), OUTPUT, 1, START, 9100)
            done = Completions()
            slow.async_run(done, fp32(30), ONE)
            server.kill()
            with pytest.raises(InferenceServerException, match="14: Socket closed"):
                slow.get_async_run_results(*done.wait())
            with pytest.raises(InferenceServerException, match="14: Connect Failed"):
                slow.run(fp32(0), ONE)
            port = server.grpc.rpartition(":")[2]
            start_triton(models, extra_args=[f"--grpc-port={port}"])
            assert number(until_it_works(lambda: slow.run(fp32(0), ONE))) == 0
        with client_error(LOST.format(9100)):
            context.run(int32(6), OUTPUT)
        for flags, total in ((START, 6), (END, 12)):
            found = until_it_works(partial(context.run, int32(6), OUTPUT, 1, flags))
            assert number(found, "OUTPUT") == total


def test_answer_over_the_size_limit(triton: TritonServer) -> None:
    """One answer that is too large fails what is on the stream; the context works on."""
    tritonclient_shim.configure(grpc_channel_arguments={"grpc.max_receive_message_length": 1 << 20})
    large, small = np.zeros((1000, 1000), np.float32), np.ones((1, 2), np.float32)
    with InferContext(triton.grpc, 1, "identity_2d", streaming=True) as context:
        for _ in range(3):
            # 8 is gRPC's own finding; where its cancellation is quicker, some versions tell of that
            with pytest.raises(InferenceServerException, match="GRPC client failed: (8|1): "):
                context.run({"INPUT0": [large]}, ONE)
            found = context.run({"INPUT0": [small]}, ONE)["OUTPUT0"][0]
            assert np.array_equal(found, small)


@not_on("2.33", "ends when a stream asks for a model or a version that it does not have")
def test_model_unloaded(start_triton: Any) -> None:
    """A model that is unloaded and loaded again leaves the stream as it is."""
    server = start_triton(["slow"])
    control = ModelControlContext(server.http, 0)
    with InferContext(server.grpc, 1, "slow", streaming=True) as context:
        context.run(fp32(0), ONE)
        control.unload("slow")
        with pytest.raises(InferenceServerException, match="Request for unknown model: 'slow'"):
            for _ in range(200):  # unloading returns before the model is gone
                context.run(fp32(0), ONE)
                threading.Event().wait(0.05)
        control.load("slow")
        assert number(context.run(fp32(0), ONE)) == 0


def test_closed_while_broken(door: Door) -> None:
    """close() ends a context whose stream has broken, and it stays closed."""
    context = InferContext(door.url, 1, "slow", streaming=True)
    context.run(fp32(0), ONE)
    door.shut()
    context.close()
    for call in (context.run, context.async_run):
        with client_error("InferContext is closed"):
            call(fp32(0), ONE)
