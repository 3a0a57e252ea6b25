"""``unwrap``: the tritonclient client behind every kind of context (docs/settings.md)."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any, Callable, Iterator

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils

import tensorrtserver.api as v1
from tests.generation_marks import not_on
from tests.infer_cases import BOTH, PATIENCE, RAMP, SUM, add_sub
from tritonclient_shim import unwrap

LIBRARY = {0: tritonclient.http, 1: tritonclient.grpc}
OPEN: dict[str, Callable[[str, int], Any]] = {
    "InferContext": lambda url, protocol: v1.InferContext(url, protocol, "simple"),
    "ServerHealthContext": v1.ServerHealthContext,
    "ServerStatusContext": v1.ServerStatusContext,
    "ModelControlContext": v1.ModelControlContext,
    "ModelRepositoryContext": v1.ModelRepositoryContext,
    "SharedMemoryControlContext": v1.SharedMemoryControlContext,
}


@pytest.fixture
def context(url: str, protocol: int) -> Iterator[v1.InferContext]:
    """Yield a context of the model ``simple``."""
    with v1.InferContext(url, protocol, "simple") as opened:
        yield opened


@pytest.fixture
def client(context: v1.InferContext) -> Any:
    """Return the context's client."""
    return unwrap(context)


def inputs_of(library: Any) -> list[Any]:
    """Return the inputs of ``simple`` as tritonclient objects."""
    result = [library.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for item in result:
        item.set_data_from_numpy(RAMP.reshape(1, 16))
    return result


@pytest.mark.parametrize("kind", OPEN)
def test_every_context_has_one(kind: str, url: str, protocol: int) -> None:
    """Every context returns its protocol's client, always one object, and raises when closed."""
    with OPEN[kind](url, protocol) as context:
        client = unwrap(context)
        assert isinstance(client, LIBRARY[protocol].InferenceServerClient)
        assert client.is_model_ready("simple")
        assert unwrap(context) is client
    with pytest.raises(v1.InferenceServerException, match=f"{kind} is closed; unwrap"):
        unwrap(context)


@pytest.mark.parametrize("value", [None, "localhost:8000", object()])
def test_only_of_contexts(value: Any) -> None:
    """unwrap raises TypeError for other objects, with the expected types."""
    with pytest.raises(TypeError, match="takes a context of tensorrtserver.api"):
        unwrap(value)


def test_address_that_is_none() -> None:
    """A malformed url raises v1's error, as in the context's own calls."""
    # docs/v1-behaviour.md §3.1
    for protocol in (0, 1):
        with v1.ServerHealthContext("not a host", protocol) as context, pytest.raises(
            v1.InferenceServerException, match="client failed: "
        ):
            unwrap(context)


@pytest.mark.smoke
def test_what_v1_never_had(client: Any, protocol: int) -> None:
    """The client does metadata, statistics, settings and inference beside the old calls."""
    metadata, statistics = client.get_model_metadata("simple"), client.get_trace_settings()
    name = metadata["name"] if protocol == 0 else metadata.name
    assert name == "simple"
    assert statistics
    result = client.infer("simple", inputs_of(LIBRARY[protocol]))
    assert result.as_numpy("OUTPUT0").ravel().tolist() == SUM


def test_from_any_thread(context: v1.InferContext, client: Any, protocol: int) -> None:
    """Over gRPC threads share one client while the context is in use; over HTTP they cannot."""
    library = LIBRARY[protocol]

    def infer_by_turns(number: int) -> Any:
        if number % 2:
            return context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist()
        return client.infer("simple", inputs_of(library)).as_numpy("OUTPUT0").ravel().tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(infer_by_turns, range(24))) == [SUM] * 24


@pytest.mark.parametrize("compression", ["gzip", "deflate"])
def test_compression_is_the_callers(client: Any, protocol: int, compression: str) -> None:
    """The client's own compression arguments work, whatever the settings say."""
    names = ["request_compression_algorithm", "response_compression_algorithm"]
    chosen = dict.fromkeys(names, compression)
    chosen = chosen if protocol == 0 else {"compression_algorithm": compression}
    result = client.infer("simple", inputs_of(LIBRARY[protocol]), **chosen)
    assert result.as_numpy("OUTPUT1").ravel().tolist() == [0] * 16


def test_asynchronous_over_http(triton: Any) -> None:
    """async_infer works on a thread that did not make the client."""
    results: Queue[Any] = Queue()
    value = tritonclient.http.InferInput("INPUT0", [1], "FP32")
    value.set_data_from_numpy(np.array([0.3], np.float32))

    with v1.ServerHealthContext(triton.http, 0) as context:
        client = unwrap(context)

        def work() -> None:
            requests = [client.async_infer("slow", [value]) for _ in range(3)]
            with pytest.raises(v1.InferenceServerException, match="failed to obtain"):
                requests[0].get_result(block=False)
            results.put([request.get_result(timeout=PATIENCE) for request in requests])

        threading.Thread(target=work, daemon=True).start()
        answers = results.get(timeout=PATIENCE)
        assert [answer.as_numpy("OUTPUT0").item() for answer in answers] == [np.float32(0.3)] * 3
        client.close()


@not_on("2.33", "ends when a stream asks for a model or a version that it does not have")
def test_errors_of_the_client(client: Any, protocol: int) -> None:
    """Either exception class catches the client's errors, which print and pickle as before."""
    for call in (client.get_model_metadata, lambda name: client.infer(name, [])):
        with pytest.raises(v1.InferenceServerException) as caught:
            call("no_such_model")
        error = caught.value
        status = ("404", "StatusCode.NOT_FOUND")[protocol]
        assert str(error).startswith(f"[{status}] Request for unknown model: 'no_such_model'")
        assert (error.status(), error.server_id(), error.request_id()) == (status, "", 0)
        copied = pickle.loads(pickle.dumps(error))
        assert (type(copied), str(copied)) == (type(error), str(error))
    assert issubclass(v1.InferenceServerException, tritonclient.utils.InferenceServerException)


def test_errors_of_requests_over_http(triton: Any) -> None:
    """Either exception class catches what get_result() raises."""
    with v1.ServerHealthContext(triton.http, 0) as context:
        request = unwrap(context).async_infer("no_such_model", inputs_of(tritonclient.http))
        with pytest.raises(v1.InferenceServerException, match="unknown model"):
            request.get_result()


def test_streams_are_their_own(triton: Any) -> None:
    """The clients of two contexts on one server may each have a stream and be closed alone."""
    answers: Queue[Any] = Queue()
    with v1.ServerHealthContext(triton.grpc, 1) as context, v1.ServerHealthContext(
        triton.grpc, 1
    ) as other:
        first, second = unwrap(context), unwrap(other)
        for client in (first, second):
            client.start_stream(lambda result, error: answers.put(error or result))
            client.async_stream_infer("simple", inputs_of(tritonclient.grpc))
        for _ in range(2):
            assert answers.get(timeout=PATIENCE).as_numpy("OUTPUT0").ravel().tolist() == SUM
        first.close()
        assert second.is_server_live()
        assert context.is_live()
        second.stop_stream()


def test_http_client_ends_with_its_context(triton: Any) -> None:
    """After close() of an HTTP context its client's calls raise an error."""
    with v1.ServerHealthContext(triton.http, 0) as context:
        client = unwrap(context)
    with pytest.raises(v1.InferenceServerException, match="has been closed"):
        client.is_server_live()


def test_plugin_of_the_user(context: v1.InferContext, client: Any) -> None:
    """A plugin registered on one client is called for that client alone."""
    seen: list[Any] = []
    client.register_plugin(lambda request: seen.append(dict(request.headers)))
    assert client.is_server_live()
    context.run(add_sub(), BOTH)
    assert len(seen) == 1
    client.unregister_plugin()
