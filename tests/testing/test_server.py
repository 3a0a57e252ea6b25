"""``tritonclient_shim.testing`` behind the contexts of the old API."""

from __future__ import annotations

import threading
import traceback
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    InferRequestHeader,
    ModelControlContext,
    ModelRepositoryContext,
    ProtocolType,
    ServerHealthContext,
    ServerStatusContext,
)
from tests.testing.models import ALL, simple, spare
from tritonclient_shim import configure, testing, unwrap

RAW = InferContext.ResultFormat.RAW
CLASS = InferContext.ResultFormat.CLASS
SIXTEEN = np.arange(16, dtype=np.int32)
ONE = np.ones(16, np.int32)
PAIR = {"INPUT0": [SIXTEEN], "INPUT1": [ONE]}


@pytest.fixture
def triton() -> Iterator[testing.Server]:
    """Yield a server with the models of these tests."""
    with testing.server(ALL) as running:
        yield running


def one_input(function: Any, **more: Any) -> testing.Model:
    """Declare a function of one value as a model, and return the model."""
    tensors: Any = {"inputs": [("I", "FP32", [1])], "outputs": [("O", "FP32", [1])]}
    return testing.model(**tensors, max_batch_size=2, **more)(function)


def run_model(url: str, protocol: int, value: float = 3.0) -> Any:
    """Send a value to the model ``m``, and return its output."""
    with InferContext(url, protocol, "m") as context:
        return context.run({"I": [np.array([value], np.float32)]}, {"O": RAW})["O"][0]


@pytest.mark.smoke
def test_batches(triton: testing.Server, protocol: int) -> None:
    """The function gets the whole batch. The caller gets a list of its entries."""
    with InferContext(triton.url(protocol), protocol, "simple") as context:
        result = context.run(
            {"INPUT0": [SIXTEEN, ONE], "INPUT1": [ONE, ONE]}, {"OUTPUT0": RAW}, batch_size=2
        )
        np.testing.assert_array_equal(result["OUTPUT0"], [SIXTEEN + 1, ONE + 1])
        assert context.get_last_request_model_version() == 1


def test_checks_of_the_client(triton: testing.Server, protocol: int) -> None:
    """The checks of v1's client raise an error before the function is called."""
    # docs/v1-behaviour.md §3.4
    with InferContext(triton.url(protocol), protocol, "simple") as context:
        with pytest.raises(InferenceServerException, match="unknown input 'X' for 'simple'"):
            context.run({**PAIR, "X": [ONE]}, {"OUTPUT0": RAW})
        with pytest.raises(InferenceServerException, match="unknown output 'X' for 'simple'"):
            context.run(PAIR, {"X": RAW})


@pytest.mark.smoke
def test_unknown_model(triton: testing.Server, protocol: int) -> None:
    """An unknown model is a server's error, with its id, a request id and v1's text."""
    with pytest.raises(InferenceServerException, match="unknown model 'nope'") as caught:
        InferContext(triton.url(protocol), protocol, "nope")
    assert caught.value.server_id() == "triton"
    assert caught.value.request_id() > 0


def test_classes(triton: testing.Server, protocol: int) -> None:
    """Classes have index, score and the declared label."""
    values = np.array([5.1, 3.5, 4.3, 0.2])
    with InferContext(triton.url(protocol), protocol, "flowers") as context:
        result = context.run({"values": [values]}, {"predict_proba": (CLASS, 2)})
    classes = [(index, label) for index, _, label in result["predict_proba"][0]]
    assert classes == [(1, "versicolor"), (2, "virginica")]


def test_callbacks(triton: testing.Server, protocol: int) -> None:
    """An asynchronous run calls back from another thread."""
    seen: list[Any] = []
    done = threading.Event()

    def callback(context: InferContext, request_id: int) -> None:
        seen.extend((request_id, threading.current_thread()))
        done.set()

    with InferContext(triton.url(protocol), protocol, "simple") as context:
        context.async_run(callback, PAIR, {"OUTPUT0": RAW})
        assert done.wait(60)
        result = context.get_async_run_results(seen[0])
    np.testing.assert_array_equal(result["OUTPUT0"][0], SIXTEEN + 1)
    assert seen[1] is not threading.current_thread()


@pytest.mark.parametrize("streaming", [False, True])
def test_sequences(triton: testing.Server, streaming: bool) -> None:
    """A stateful function has the state of its sequence, with and without a stream."""
    start, end = InferRequestHeader.FLAG_SEQUENCE_START, InferRequestHeader.FLAG_SEQUENCE_END
    with InferContext(
        triton.grpc, ProtocolType.GRPC, "sequence_sum", correlation_id=7, streaming=streaming
    ) as context:
        sums = [
            context.run({"INPUT": [np.array([n], np.int32)]}, {"OUTPUT": RAW}, flags=flags)
            for n, flags in ((5, start), (6, 0), (7, end))
        ]
        with pytest.raises(InferenceServerException, match="must specify the START flag"):
            context.run({"INPUT": [np.array([1], np.int32)]}, {"OUTPUT": RAW})
    assert [int(result["OUTPUT"][0][0]) for result in sums] == [5, 11, 18]


def test_an_exception_of_the_function(protocol: int) -> None:
    """An exception of the function is a server's error, as on Triton."""

    def broken(inputs: Any) -> Any:
        raise ValueError("no such value")

    with testing.server(m=one_input(broken), id="mine") as triton, pytest.raises(
        InferenceServerException, match="message: ValueError: no such value$"
    ) as caught:
        run_model(triton.url(protocol), protocol)
    assert caught.value.server_id() == "mine"
    assert caught.value.status() == ("StatusCode.INTERNAL" if protocol else "500")


def test_a_refusal_of_the_function(protocol: int) -> None:
    """ServerError reaches the caller with its message and status code."""

    def busy(inputs: Any) -> Any:
        raise testing.ServerError("Exceeds maximum queue size", "UNAVAILABLE")

    with testing.server(m=one_input(busy)) as triton, pytest.raises(
        InferenceServerException, match="Exceeds maximum queue size$"
    ) as caught:
        run_model(triton.url(protocol), protocol)
    assert caught.value.status() == ("StatusCode.UNAVAILABLE" if protocol else "503")


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, "returned NoneType; expected a dict with arrays for ['O']"),
        ({"P": 1}, "returned ['P']; expected a dict with arrays for ['O']"),
        ({"O": [0, []]}, "returned list, which makes no array, for output 'O'"),
        ({"O": np.zeros((1, 1))}, "returned float64 for output 'O', which is declared FP32"),
    ],
)
def test_what_a_function_must_not_return(returned: Any, says: str, protocol: int) -> None:
    """A wrong return value is an error that names the model and the expected value."""
    model = one_input(lambda inputs: returned)
    with testing.server(m=model) as triton, pytest.raises(
        InferenceServerException, match="the function of model 'm'"
    ) as caught:
        run_model(triton.url(protocol), protocol)
    assert says in str(caught.value)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_exception_of_a_function(asynchronous: bool, protocol: int) -> None:
    """The cause of the error is the exception of the model, with the line of the function."""
    model = one_input(lambda inputs: {"O": inputs["missing"]})
    with testing.server(m=model) as triton:
        context = InferContext(triton.url(protocol), protocol, "m")
        arguments = ({"I": [np.ones(1, np.float32)]}, {"O": RAW})
        with pytest.raises(InferenceServerException, match="KeyError: 'missing'") as caught:
            if asynchronous:
                context.get_async_run_results(context.async_run(*arguments), True)
            context.run(*arguments)
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    last_frame = traceback.extract_tb(cause.__traceback__)[-1]
    assert last_frame.filename == __file__


def test_status_and_control(protocol: int) -> None:
    """Health, status, index, load and unload work as on a server with these models."""
    with testing.server(simple=simple, spare=spare) as triton:
        url = triton.url(protocol)
        assert ServerHealthContext(url, protocol).is_ready()
        status = ServerStatusContext(url, protocol).get_server_status()
        assert status.id == "triton"
        known = status.model_status["simple"]
        assert known.config.max_batch_size == 8
        assert list(known.version_status) == [1]
        control = ModelControlContext(url, protocol)
        control.unload("spare")
        with pytest.raises(InferenceServerException, match="'spare' has no available versions"):
            InferContext(url, protocol, "spare").run({"INPUT0": [ONE]}, {"OUTPUT0": RAW})
        control.load("spare")
        names = [model.name for model in ModelRepositoryContext(url, protocol)
                 .get_model_repository_index().models]  # fmt: skip
        assert sorted(names) == ["simple", "spare"]


def test_versions(protocol: int) -> None:
    """Each version has its function. The decorated function is the newest version."""
    older = one_input(lambda inputs: {"O": inputs["I"] * 0 + 1}).versions[1]
    model = one_input(lambda inputs: {"O": inputs["I"] * 0 + 2}, versions={1: older})
    with testing.server(m=model) as triton:
        assert run_model(triton.url(protocol), protocol) == 2
        context = InferContext(triton.url(protocol), protocol, "m", 1)
        assert context.run({"I": [np.ones(1, np.float32)]}, {"O": RAW})["O"][0] == 1


def test_addresses_that_a_program_has_written_into_it(protocol: int) -> None:
    """A server takes the addresses that programs use. After its end, connections fail."""
    urls = ("http://triton.test:1/", "triton.test:2")
    with testing.server(at=urls, simple=simple):
        with InferContext(urls[protocol], protocol, "simple") as context:
            assert context.run(PAIR, {"OUTPUT0": RAW})["OUTPUT0"][0][15] == 16
            taken = pytest.raises(ValueError, match="a server at 'triton.test:1' over http already")
            with taken, testing.server(at=urls):
                pass
        kept = InferContext(urls[protocol], protocol, "simple")
    with pytest.raises(InferenceServerException, match="client failed: .*onnect"):
        kept.run(PAIR, {"OUTPUT0": RAW})


def test_rewritten_addresses_lead_to_it(triton: testing.Server) -> None:
    """The setting that rewrites addresses can name this server."""
    configure(rewrite_addresses={"old.example:8000": triton.http})
    assert ServerHealthContext("old.example:8000", ProtocolType.HTTP).is_live()


def test_unwrap_is_refused(triton: testing.Server, protocol: int) -> None:
    """``unwrap`` raises an error, because tritonclient cannot reach this server."""
    with InferContext(triton.url(protocol), protocol, "simple") as context, pytest.raises(
        InferenceServerException, match="which no tritonclient client can reach"
    ):
        unwrap(context)


def test_the_function_stays_a_function() -> None:
    """A function declared as a model can be called as before."""
    result = simple({"INPUT0": SIXTEEN, "INPUT1": ONE})
    np.testing.assert_array_equal(result["OUTPUT0"], SIXTEEN + 1)
