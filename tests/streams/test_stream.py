"""Streaming contexts, and calls after a broken stream (docs/v1-behaviour.md §5)."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext, InferenceServerException
from testbed import TritonServer
from tests.infer_cases import (
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
from tests.relays import Relay

OUTPUT = {"OUTPUT": RAW}


@pytest.mark.smoke
def test_order_of_requests(stream: Any) -> None:
    """Responses arrive in request order, also a slow response before a quick one."""
    # docs/v1-behaviour.md §5
    context, done = stream("slow"), Completions()
    for seconds in (0.3, 0.0, 0.1):
        context.async_run(done, fp32(seconds), ONE)
    assert done.wait(3) == [1, 2, 3]
    values = [number(context.get_async_run_results(i)) for i in (1, 2, 3)]
    assert values == pytest.approx([0.3, 0.0, 0.1])


@pytest.mark.smoke
def test_errors_reach_their_request(stream: Any) -> None:
    """A server error goes to its own request, and the stream stays usable."""
    # docs/v1-behaviour.md §5
    context, done = stream("failing"), Completions()
    values = [0, 3, 0, 4, 0, 5]
    for value in values:
        context.async_run(done, fp32(value), ONE)
    done.wait(len(values))
    for request_id, value in enumerate(values, start=1):
        if value:
            with server_error(f"the model refused value {value}"):
                context.get_async_run_results(request_id)
        else:
            assert number(context.get_async_run_results(request_id)) == 0
    with server_error("the model refused value 7"):
        context.run(fp32(7), ONE)
    assert number(context.run(fp32(0), ONE)) == 0


def test_old_style(stream: Any) -> None:
    """Ids, wait and get_ready_async_request work on a stream (docs/v1-behaviour.md §2.2)."""
    context = stream("slow")
    ids = [context.async_run(fp32(seconds), ONE) for seconds in (1.0, 0.0)]
    assert context.get_async_run_results(ids[1], False) is None
    assert context.get_ready_async_request(True) == ids[0]
    assert number(context.get_async_run_results(ids[1], True)) == 0
    assert number(context.get_async_run_results(ids[0], True)) == pytest.approx(1.0)


LOST = (
    "The stream broke in the midst of sequence {0}: which of its requests the server has seen, "
    "and so the state of the sequence there, is unknown. Start it again: send its first request "
    "with FLAG_SEQUENCE_START"
)


def until_it_works(call: Callable[[], Any]) -> Any:
    """Return the first result. Check that each call before it raises v1's client error."""
    for _ in range(int(PATIENCE * 20)):
        try:
            return call()
        except InferenceServerException as error:
            assert str(error.message()).startswith("GRPC client failed: 14: "), error
            threading.Event().wait(0.05)
    return call()


@pytest.fixture
def relay(triton: TritonServer) -> Iterator[Relay]:
    """Yield a relay to the session's server."""
    with Relay(triton.grpc) as relay:
        yield relay


def test_callback_of_the_broken_stream_sends(relay: Relay) -> None:
    """The callback of a lost request may send the request again, and call run()."""
    again = Completions()
    text: list[str] = []

    def resend(context: InferContext, request_id: int) -> None:
        with pytest.raises(InferenceServerException) as caught:
            context.get_async_run_results(request_id)
        text.append(str(caught.value.message()))
        context.async_run(again, fp32(0), ONE)
        assert number(context.run(fp32(0), ONE)) == 0

    with InferContext(relay.address, 1, "slow", streaming=True) as context:
        context.run(fp32(0), ONE)
        relay.replies.clear()
        for _ in range(3):
            context.async_run(resend, fp32(0), ONE)
        relay.cut()
        relay.replies.set()
        for request_id in again.wait(3):
            assert number(context.get_async_run_results(request_id)) == 0
    assert text == ["GRPC client failed: 14: Socket closed"] * 3


def test_open_sequence(relay: Relay) -> None:
    """After a break, run() and async_run() refuse an open sequence until it starts again."""
    with InferContext(relay.address, 1, "sequence_sum", streaming=True) as context:
        assert number(context.run(int32(5), OUTPUT, 1, START, 9000), "OUTPUT") == 5
        relay.cut()
        until_it_works(lambda: context.run(int32(1), OUTPUT, 1, START | END, 9002))
        for flags in (0, END):
            with client_error(LOST.format(9000)):
                context.run(int32(6), OUTPUT, 1, flags, 9000)
            with client_error(LOST.format(9000)):
                context.async_run(print, int32(6), OUTPUT, 1, flags)
        steps = [(START, 9000), (0, 9000), (END, 9000)]
        sums = [number(context.run(int32(2), OUTPUT, 1, *step), "OUTPUT") for step in steps]
        assert sums == [2, 4, 6]


def test_answer_over_the_size_limit(triton: TritonServer) -> None:
    """A reply that is too large fails all requests on the stream. The context works on."""
    tritonclient_shim.configure(grpc_channel_arguments={"grpc.max_receive_message_length": 1 << 20})
    large, small = np.zeros((1000, 1000), np.float32), np.ones((1, 2), np.float32)
    with InferContext(triton.grpc, 1, "identity_2d", streaming=True) as context:
        for _ in range(3):
            # 8 is gRPC's own status; in some versions the stream is cancelled first, with that
            # status
            with pytest.raises(InferenceServerException, match="GRPC client failed: (8|1): "):
                context.run({"INPUT0": [large]}, ONE)
            result = context.run({"INPUT0": [small]}, ONE)["OUTPUT0"][0]
            assert np.array_equal(result, small)


def test_closed_while_broken(relay: Relay) -> None:
    """close() works on a context whose stream has broken, and the context stays closed."""
    context = InferContext(relay.address, 1, "slow", streaming=True)
    context.run(fp32(0), ONE)
    relay.shut()
    context.close()
    for call in (context.run, context.async_run):
        with client_error("InferContext is closed"):
            call(fp32(0), ONE)
