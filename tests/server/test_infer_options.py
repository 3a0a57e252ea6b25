"""flags, corr_id, priority and timeout_us (docs/v1-behaviour.md §3.9)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferenceServerException, InferRequestHeader
from tests.generation_marks import not_on
from tests.server.infer_cases import (
    BOTH,
    END,
    ONE,
    RAMP,
    RAW,
    START,
    Completions,
    add_sub,
    client_error,
    fp32,
    int32,
    number,
    server_error,
)

pytest_plugins = ["tests.server.infer_fixtures"]

SUM_AND_ID = {"OUTPUT": RAW, "CORRID": RAW}
BAD_SIZE = {"INPUT0": [RAMP.view(np.int64)], "INPUT1": [RAMP]}


@pytest.fixture(params=["sequence_sum", "sequence_oldest"])
def sequence(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_flag_numbers() -> None:
    """The flags are class attributes of InferRequestHeader (docs/v1-behaviour.md §1.4)."""
    assert InferRequestHeader.FLAG_NONE == 0
    assert InferRequestHeader.FLAG_SEQUENCE_START == START
    assert InferRequestHeader.FLAG_SEQUENCE_END == END


@pytest.mark.smoke
def test_sequence(connect: Any, sequence: str, protocol: int) -> None:
    """START on the first request, END on the last, one corr_id from the constructor."""
    # docs/v1-behaviour.md §3.9
    context = connect(sequence, correlation_id=1000 + protocol)
    flags = [START, 0, END]
    sums = [context.run(int32(n), SUM_AND_ID, 1, flag) for n, flag in zip((5, 6, 7), flags)]
    assert [number(one, "OUTPUT") for one in sums] == [5, 11, 18]
    assert [number(one, "CORRID") for one in sums] == [1000 + protocol] * 3


def test_interleaved_sequences(connect: Any, sequence: str, protocol: int) -> None:
    """One context serves several sequences by corr_id (docs/v1-behaviour.md §3.9)."""
    context = connect(sequence)
    first, second = 2000 + protocol, 2010 + protocol
    steps = [(first, 1, START), (second, 10, START), (first, 2, END), (second, 20, END)]
    sums = [number(context.run(int32(n), {"OUTPUT": RAW}, 1, f, c), "OUTPUT") for c, n, f in steps]
    assert sums == [1, 10, 3, 30]


@pytest.mark.parametrize("flags", [START | END, 2**32 + 3, np.uint8(3), -(2**32) + 3])
def test_one_request_sequence(connect: Any, flags: Any) -> None:
    """Flags: START and END in one request; 32 bits, modulo 2**32 (docs/v1-behaviour.md §3.9)."""
    context = connect("sequence_sum", correlation_id=3000)
    for value in (4, 9):
        assert number(context.run(int32(value), {"OUTPUT": RAW}, 1, flags), "OUTPUT") == value


@pytest.mark.parametrize("given", [1, 2**31, 2**32 + 5, 2**63 - 1, 2**63, 2**64 - 1, -1, -7])
def test_every_bit_of_the_correlation_id(connect: Any, given: int) -> None:
    """Correlation id: full uint64 on both protocols; negative ids wrap."""
    # docs/v1-behaviour.md §3.1, §3.9
    for context in (connect("sequence_sum", correlation_id=given), connect("sequence_sum")):
        results = context.run(int32(1), SUM_AND_ID, 1, START | END, given)
        assert results["CORRID"][0].dtype == np.uint64
        assert results["CORRID"][0].tolist() == [given % 2**64]
        assert context.correlation_id() == given % 2**64


@pytest.mark.smoke
def test_correlation_id_is_sticky(connect: Any) -> None:
    """corr_id replaces the context's for good, 0 keeps it; ``_correlation_id`` stays."""
    # docs/v1-behaviour.md §3.9
    context = connect("simple", correlation_id=5)
    for given, kept in ((0, 5), (6, 6), (0, 6), (True, 1), (2**64 + 9, 9), (2**64, 9)):
        context.run(add_sub(), ONE, 1, 0, given)
        assert context.correlation_id() == kept
    assert context._correlation_id == 5


def test_sticky_reaches_the_server(connect: Any, protocol: int) -> None:
    """A request without corr_id goes on with the last one given (docs/v1-behaviour.md §3.9)."""
    context = connect("sequence_sum")
    given = 4000 + protocol
    context.run(int32(1), SUM_AND_ID, 1, START, given)
    results = context.run(int32(2), SUM_AND_ID, flags=END)
    assert (number(results, "OUTPUT"), number(results, "CORRID")) == (3, given)


@pytest.mark.parametrize(
    ("arguments", "text", "kept"),
    [
        (({"INPUT0": 5}, ONE, 1, 0, 8), "input 'INPUT0' values must be specified as a list", 7),
        ((add_sub(), ONE, 1.5, 0, 8), "argument 3: <class 'TypeError'>: wrong type", 7),
        ((add_sub(), {"NOPE": RAW}, 1, 0, 8), "unknown output 'NOPE'", 7),
        ((add_sub(), ONE, 9, 0, 8), "run batch-size 9 exceeds maximum batch size 8", 7),
        (({"NOPE": [RAMP]}, ONE, 1, 0, 8), "unknown input 'NOPE'", 8),
        ((BAD_SIZE, ONE, 1, 0, 8), "invalid size", 8),
        (({"INPUT0": [RAMP]}, ONE, 1, 0, 8), "expecting 1 invocations of SetRaw", 8),
    ],
)
@pytest.mark.parametrize("style", ["run", "async_run"])
def test_when_it_sticks(connect: Any, arguments: Any, text: str, kept: int, style: str) -> None:
    """Stickiness: errors up to the batch size leave it, input errors come too late."""
    # docs/v1-behaviour.md §3.9
    context = connect("simple", correlation_id=7)
    with pytest.raises((InferenceServerException, ctypes.ArgumentError), match=text):
        getattr(context, style)(*arguments)
    assert context.correlation_id() == kept


def test_async_correlation_id(connect: Any) -> None:
    """async_run's corr_id sticks as well, when it is sent (docs/v1-behaviour.md §3.9)."""
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), ONE, 1, 0, 77)
    assert context.correlation_id() == 77
    done.wait()


@pytest.mark.parametrize(("flags", "given"), [(START, 0), (0, 0)])
def test_sequence_without_id(connect: Any, sequence: str, flags: int, given: int) -> None:
    """Sequence, no id: v1's words, without v2's "or non-empty" (docs/v1-behaviour.md §3.4)."""
    message = f"inference request to model '{sequence}' must specify a non-zero correlation ID"
    with server_error(message):
        connect(sequence).run(int32(1), {"OUTPUT": RAW}, 1, flags, given)


def test_sequence_without_start(connect: Any, sequence: str, protocol: int) -> None:
    """Sequence, no start: the sentence that NVIDIA's scripts test for."""
    # docs/v1-behaviour.md §3.4
    given = 5000 + protocol
    with server_error(
        f"inference request for sequence {given} to model '{sequence}' must specify the START "
        "flag on the first request of the sequence"
    ):
        connect(sequence).run(int32(1), {"OUTPUT": RAW}, 1, 0, given)


def test_sequence_batch(connect: Any, sequence: str) -> None:
    """Sequence, batch ≠ 1: refused by the server (docs/v1-behaviour.md §3.4)."""
    arrays = {"INPUT": [np.array([1], np.int32)] * 2}
    with server_error(
        f"inference request to model '{sequence}' must specify batch-size 1 due to requirements "
        "of sequence batcher"
    ):
        connect(sequence, correlation_id=6).run(arrays, {"OUTPUT": RAW}, 2, START | END)


def test_flags_on_other_models(connect: Any) -> None:
    """Flags are passed through; a model without sequences ignores them."""
    # docs/v1-behaviour.md §3.9
    context = connect("simple", correlation_id=3)
    for flags in (START, END, 3, 0xFFFFFFFF, -1):
        assert set(context.run(add_sub(), BOTH, flags=flags)) == set(BOTH)


@pytest.mark.parametrize("priority", [1, 2**32 - 1, 2**32 + 1, -1])
def test_priority(connect: Any, priority: int) -> None:
    """Priority: 32 bits, modulo 2**32; a model without levels ignores it."""
    # docs/v1-behaviour.md §3.9
    assert set(connect("simple").run(add_sub(), BOTH, priority=priority)) == set(BOTH)


@pytest.mark.parametrize("timeout_us", [1, 2**63, 2**64 - 1, -1])
def test_timeout_on_other_models(connect: Any, timeout_us: int) -> None:
    """timeout_us: full uint64; a model without a queue policy ignores it."""
    # docs/v1-behaviour.md §3.9
    assert set(connect("simple").run(add_sub(), BOTH, timeout_us=timeout_us)) == set(BOTH)


@not_on("2.33", "takes requests out of the queue before the model is free")
@pytest.mark.smoke
def test_timeout_in_the_queue(connect: Any) -> None:
    """timeout_us: ``Request timeout expired``; it holds for that request alone."""
    # docs/v1-behaviour.md §3.9, §3.4
    context = connect("queue_policy")
    # the server may have taken all of them at once
    assert any(expired(context) for _ in range(5))
    assert number(context.run(fp32(0), ONE)) == 0


def expired(context: Any) -> int:
    """How many of five requests with a limit were refused while a sixth one was running."""
    refused = 0
    slow = context.async_run(fp32(0.3), ONE)
    for request_id in [context.async_run(fp32(0), ONE, timeout_us=1000) for _ in range(5)]:
        try:
            context.get_async_run_results(request_id, True)
        except InferenceServerException as error:
            assert error.message() == "Request timeout expired"
            assert error.server_id() == "triton"
            refused += 1
    assert number(context.get_async_run_results(slow, True)) == pytest.approx(0.3)
    return refused


def test_message_of_a_model(connect: Any) -> None:
    """What the model answers against a request, word for word, no prefix of v2's."""
    # docs/v1-behaviour.md §3.4
    with pytest.raises(InferenceServerException) as caught:
        connect("failing").run(fp32(3), ONE)
    assert caught.value.message() == "the model refused value 3"
    assert caught.value.server_id() == "triton"


def test_client_and_server_family(connect: Any) -> None:
    """Request ids of server errors are positive and increase, client errors have 0."""
    # docs/v1-behaviour.md §1.6
    context, ids = connect("failing"), []
    for _ in range(3):
        with pytest.raises(InferenceServerException) as caught:
            context.run(fp32(3), ONE)
        ids.append(caught.value.request_id())
        with client_error("unknown output 'NOPE' for 'failing'"):
            context.run(fp32(3), {"NOPE": RAW})
    assert ids == sorted(set(ids))
    assert ids[0] > 0
