"""Streaming contexts (docs/v1-behaviour.md §5): run and async_run on one gRPC stream."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext
from tests.generation_marks import not_on
from tests.server.infer_cases import (
    BOTH,
    CLASS,
    END,
    ONE,
    PATIENCE,
    RAW,
    START,
    SUM,
    Completions,
    add_sub,
    client_error,
    fp32,
    int32,
    number,
    server_error,
)

pytest_plugins = ["tests.server.infer_fixtures"]

OUTPUT = {"OUTPUT": RAW}
UNKNOWN = "The request ID doesn't match any existing asynchronous requests"


@pytest.mark.parametrize("streaming", [True, 1, "yes", [0]])
def test_run(triton: Any, streaming: Any) -> None:
    """Streaming: any truth value; run() is sent over the stream and waited for."""
    # docs/v1-behaviour.md §3.1, §5
    with InferContext(triton.grpc, 1, "simple", None, False, 0, streaming) as context:
        for batch_size in (1, 4, 0):
            results = context.run(add_sub(batch_size or 1), BOTH, batch_size)
            assert [entry.tolist() for entry in results["OUTPUT0"]] == [SUM] * batch_size
        assert context.get_last_request_model_name() == "simple"
        assert (context.get_last_request_id() or 0) > 0


@pytest.mark.parametrize("model", ["sequence_sum", "sequence_oldest"])
@pytest.mark.smoke
def test_sequence(stream: Any, model: str) -> None:
    """Sequence use: START on the first, END on the last, run() in between."""
    # docs/v1-behaviour.md §5
    context = stream(model, 8000)
    flags = [START, 0, 0, END]
    sums = [number(context.run(int32(1), OUTPUT, 1, flag), "OUTPUT") for flag in flags]
    assert sums == [1, 2, 3, 4]


@pytest.mark.parametrize("model", ["sequence_sum", "sequence_oldest"])
def test_sequence_without_waiting(stream: Any, model: str) -> None:
    """Sequence use: several async_runs without waiting, in order by the stream."""
    # docs/v1-behaviour.md §5
    context, done = stream(model, 8100), Completions()
    for n in range(20):
        flag = START if n == 0 else END if n == 19 else 0
        context.async_run(done, int32(1), OUTPUT, 1, flag)
    ids = done.wait(20)
    assert ids == list(range(1, 21))
    fetched = [number(context.get_async_run_results(i), "OUTPUT") for i in ids]
    assert fetched == list(range(1, 21))


def test_two_sequences_on_one_stream(stream: Any) -> None:
    """Sequences of different corr_ids on one stream; corr_id is sticky here as well."""
    # docs/v1-behaviour.md §5
    context = stream("sequence_sum")
    steps = [(8200, 1, START), (8201, 10, START), (0, 20, END), (8200, 2, END)]
    sums = [number(context.run(int32(n), OUTPUT, 1, f, c), "OUTPUT") for c, n, f in steps]
    assert sums == [1, 10, 30, 3]
    assert context.correlation_id() == 8200


@pytest.mark.parametrize("given", [2**63, 2**64 - 1, -5])
def test_every_bit_of_the_correlation_id(stream: Any, given: int) -> None:
    """Full uint64 correlation ids."""
    outputs = {"OUTPUT": RAW, "CORRID": RAW}
    results = stream("sequence_sum").run(int32(1), outputs, 1, START | END, given)
    assert results["CORRID"][0].tolist() == [given % 2**64]


@pytest.mark.smoke
def test_order_of_requests(stream: Any) -> None:
    """Order: responses come in request order, a slow one before a quick one."""
    # docs/v1-behaviour.md §5
    context, done = stream("slow"), Completions()
    for seconds in (0.3, 0.0, 0.1):
        context.async_run(done, fp32(seconds), ONE)
    assert done.wait(3) == [1, 2, 3]
    values = [number(context.get_async_run_results(i)) for i in (1, 2, 3)]
    assert values == pytest.approx([0.3, 0.0, 0.1])


def test_ids_are_shared_with_run(stream: Any) -> None:
    """On a streaming context run() takes a client id from the same counter."""
    # docs/v1-behaviour.md §4.5
    context, done = stream("simple"), Completions()
    context.run(add_sub(), BOTH)
    context.async_run(done, add_sub(), BOTH)
    context.run(add_sub(), BOTH)
    assert context.async_run(add_sub(), BOTH) == 4
    assert done.wait() == [2]


@pytest.mark.smoke
def test_errors_reach_their_request(stream: Any) -> None:
    """Server errors come back per request, among good ones; the stream stays usable."""
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


def test_refusals_reach_their_request(stream: Any) -> None:
    """What the server refuses before the model sees it, by either call."""
    # docs/v1-behaviour.md §3.4, §5
    context, done = stream("sequence_sum", 8300), Completions()
    message = "inference request for sequence 8300 to model 'sequence_sum' must specify the START"
    for _ in range(3):
        context.async_run(done, int32(1), OUTPUT)
        with server_error(message):
            context.run(int32(1), OUTPUT)
    for request_id in done.wait(3):
        with server_error(message):
            context.get_async_run_results(request_id)


@not_on("2.33", "ends when a stream asks for a model or a version that it does not have")
def test_unknown_version(stream: Any) -> None:
    """A missing version fails at the request, not at the stream (docs/v1-behaviour.md §3.1, §5)."""
    context = stream("multi_version", model_version=99)
    for _ in range(2):
        with server_error("Request for unknown model: 'multi_version' version 99 is not found"):
            context.run(fp32(0), ONE)


def test_validation(stream: Any) -> None:
    """Validation errors are raised at once and do not touch the stream."""
    # docs/v1-behaviour.md §5
    context = stream("simple")
    for call in (context.run, context.async_run):
        with client_error("unknown output 'NOPE' for 'simple'"):
            call(add_sub(), {"NOPE": RAW})
    with client_error(UNKNOWN):
        context.get_async_run_results(1)
    assert context.async_run(add_sub(), BOTH) == 1


def test_unknown_model(triton: Any) -> None:
    """The stream is opened before the status call; an unknown model is told as ever."""
    # docs/v1-behaviour.md §3.1
    with server_error("no status available for unknown model 'nope'"):
        InferContext(triton.grpc, 1, "nope", streaming=True)


def test_old_style(stream: Any) -> None:
    """On a stream: ids, wait, get_ready_async_request (docs/v1-behaviour.md §2.2)."""
    context = stream("slow")
    ids = [context.async_run(fp32(seconds), ONE) for seconds in (0.2, 0.0)]
    assert context.get_async_run_results(ids[1], False) is None
    assert context.get_ready_async_request(True) == ids[0]
    assert number(context.get_async_run_results(ids[1], True)) == 0
    assert number(context.get_async_run_results(ids[0], True)) == pytest.approx(0.2)


def test_classes_on_a_stream(stream: Any) -> None:
    """Classes with labels, also of a stateful model, in the midst of a sequence."""
    # docs/v1-behaviour.md §4.2
    scores = np.eye(10, dtype=np.float32)[4] * 32
    expected = [[(4, 32.0, "l4")]]
    context = stream("classify")
    assert context.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, 1)}) == {"OUTPUT": expected}
    context = stream("sequence_labels", 8400)
    for flags, total in ((START, 32.0), (END, 64.0)):
        found = context.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, 1)}, 1, flags)
        assert found == {"OUTPUT": [[(4, total, "l4")]]}


def test_stat(stream: Any) -> None:
    """Streaming: counted when the results are read, errors too (docs/v1-behaviour.md §4.6)."""
    context, done = stream("failing"), Completions()
    context.run(fp32(0), ONE)
    with server_error("the model refused value 1"):
        context.run(fp32(1), ONE)
    context.async_run(done, fp32(0), ONE)
    (request_id,) = done.wait()
    assert context.get_stat()["completed_request_count"] == 2
    context.get_async_run_results(request_id)
    assert context.get_stat()["completed_request_count"] == 3


def test_run_inside_a_callback(stream: Any) -> None:
    """run() and async_run() on the same streaming context work inside a callback."""
    # docs/v1-behaviour.md §5
    context, done, sums = stream("simple"), Completions(), []

    def callback(given: InferContext, request_id: int) -> None:
        sums.append(given.run(add_sub(), BOTH)["OUTPUT0"][0].tolist())
        given.async_run(done, add_sub(), BOTH)

    context.async_run(callback, add_sub(), BOTH)
    assert done.wait() == [3]
    assert sums == [SUM]


def test_many_requests(stream: Any) -> None:
    """A thousand pipelined requests, each with its own answer."""
    context, done, total = stream("identity_int32"), Completions(), 1000
    for value in range(1, total + 1):
        context.async_run(done, {"INPUT0": [np.array([value], np.int32)]}, ONE)
    ids = done.wait(total)
    assert ids == list(range(1, total + 1))
    assert all(number(context.get_async_run_results(i)) == i for i in ids)


def test_large_tensors(stream: Any) -> None:
    """Megabytes in both directions on a stream, several at once (docs/v1-behaviour.md §5)."""
    context, done = stream("identity_2d"), Completions()
    arrays = [np.full((500, 1000), value, np.float32) for value in range(8)]
    for array in arrays:
        context.async_run(done, {"INPUT0": [array]}, ONE)
    ids = done.wait(8)
    assert len(ids) == 8
    for request_id, array in zip(ids, arrays):
        assert np.array_equal(context.get_async_run_results(request_id)["OUTPUT0"][0], array)


def test_several_threads_on_one_stream(stream: Any) -> None:
    """Run() from several threads on one streaming context."""
    context, wrong = stream("identity_int32"), []

    def work(worker: int) -> None:
        for step in range(25):
            value = 1000 * worker + step
            inputs = {"INPUT0": [np.array([value], np.int32)]}
            if number(context.run(inputs, ONE)) != value:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []
    assert context.get_stat()["completed_request_count"] == 100
