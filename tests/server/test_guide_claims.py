"""Claims of migration_guide.md about tritonclient outside its pairs, tested on tritonclient."""

from __future__ import annotations

import importlib
import queue
import subprocess
import sys
import time
from typing import Any, Iterator

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.utils import (
    InferenceServerException,
    np_to_triton_dtype,
    serialize_byte_tensor,
    serialized_byte_size,
)

from testbed import TritonServer
from tests.generation_marks import not_on

pytestmark = pytest.mark.release  # a change of this package cannot break them

#: A program with a stream: its address and how it closes are filled in.
STREAMING = """\
import queue
import sys
import tritonclient.grpc as grpcclient
client = grpcclient.InferenceServerClient("{address}")
done = queue.Queue()
client.start_stream(callback=lambda result, error: done.put(error))
client.async_stream_infer("simple", [])
done.get(timeout=60)
{close}
print("done", flush=True)
{end}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[TritonServer]:
    """Yield a server for requests that go wrong."""
    with TritonServer.start(models=("simple", "sequence_sum", "slow")) as started:
        yield started


@pytest.fixture
def client(server: TritonServer) -> Iterator[Any]:
    """Yield a client of tritonclient.grpc."""
    with grpcclient.InferenceServerClient(server.grpc) as client:
        yield client


def inputs(module: Any) -> list[Any]:
    """Return the inputs of ``simple``."""
    result = [module.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for tensor in result:
        tensor.set_data_from_numpy(np.zeros((1, 16), np.int32))
    return result


def test_a_callback_with_other_names_never_runs(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """gRPC calls a callback with keywords; a callback's TypeError is only a line of the log."""
    ran: list[Any] = []
    client.async_infer("simple", inputs(grpcclient), callback=lambda res, err: ran.append(res))
    deadline = time.monotonic() + 30
    while "Exception in callback" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "unexpected keyword argument 'result'" in caplog.text
    assert not ran


def test_on_a_stream_it_ends_the_thread(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TypeError of a stream's callback ends the thread that reads the replies."""
    failed: queue.Queue[Any] = queue.Queue()
    monkeypatch.setattr("threading.excepthook", lambda args: failed.put(args.exc_value))
    client.start_stream(callback=lambda res, err: failed.put(res))
    client.async_stream_infer("simple", [])
    error = failed.get(timeout=30)
    assert "got an unexpected keyword argument 'result'" in str(error)


def test_http_has_no_callback(server: TritonServer) -> None:
    """tritonclient's HTTP client does not accept the argument."""
    client = httpclient.InferenceServerClient(server.http)
    with client, pytest.raises(TypeError, match="unexpected keyword argument 'callback'"):
        client.async_infer("simple", inputs(httpclient), callback=print)


@pytest.mark.parametrize(("concurrency", "waits"), [(1, True), (2, False)])
def test_concurrency_limits_the_requests_in_flight(
    server: TritonServer, concurrency: int, waits: bool
) -> None:
    """With concurrency=1, the default, a request waits for the slow request before it."""
    seconds = httpclient.InferInput("INPUT0", [1], "FP32")
    seconds.set_data_from_numpy(np.array([2], np.float32))
    options = {} if concurrency == 1 else {"concurrency": concurrency}
    with httpclient.InferenceServerClient(server.http, **options) as client:
        slow = client.async_infer("slow", [seconds])
        client.async_infer("simple", inputs(httpclient)).get_result()
        if waits:
            slow.get_result(block=False)
        else:
            with pytest.raises(InferenceServerException, match="failed to obtain"):
                slow.get_result(block=False)
            slow.get_result()


def test_asyncio_clients_have_no_async_infer() -> None:
    """Both asyncio clients have ``infer`` and no ``async_infer``."""
    for module in ("grpc", "http"):
        client = importlib.import_module(f"tritonclient.{module}.aio").InferenceServerClient
        assert hasattr(client, "infer") and not hasattr(client, "async_infer")


def test_flags_are_bool_over_http(server: TritonServer) -> None:
    """tritonclient over HTTP refuses an int as a sequence flag, and takes a bool."""
    tensor = httpclient.InferInput("INPUT", [1, 1], "INT32")
    tensor.set_data_from_numpy(np.array([[5]], np.int32))
    flags = 3
    with httpclient.InferenceServerClient(server.http) as client:
        with pytest.raises(InferenceServerException, match="non-boolean as boolean"):
            client.infer("sequence_sum", [tensor], sequence_id=1, sequence_start=flags & 1)
        answer = client.infer(
            "sequence_sum",
            [tensor],
            sequence_id=1,
            sequence_start=bool(flags & 1),
            sequence_end=bool(flags & 2),
        )
    assert answer.as_numpy("OUTPUT").tolist() == [[5]]


@not_on("2.33", "ends when a stream asks for a model or a version that it does not have")
def test_a_refusal_on_a_stream_has_no_id(client: Any) -> None:
    """A failed request's callback gets no result, and an error that does not name the request."""
    done: queue.Queue[Any] = queue.Queue()
    client.start_stream(callback=lambda result, error: done.put((result, error)))
    client.async_stream_infer("no_such_model", [], request_id="mine")
    result, error = done.get(timeout=30)
    assert result is None
    assert "no_such_model" in error.message()
    assert "mine" not in f"{error} {vars(error)}"


def test_names_of_metadata_are_lower_case(server: TritonServer, client: Any) -> None:
    """gRPC refuses a capital letter, HTTP does not."""
    with pytest.raises((InferenceServerException, ValueError), match="(?i)metadata"):
        client.is_server_live(headers={"X-Team": "vision"})
    with httpclient.InferenceServerClient(server.http) as over_http:
        assert over_http.is_server_live(headers={"X-Team": "vision"})


def test_an_open_stream_keeps_the_program(server: TritonServer) -> None:
    """A program goes on running while its stream is open, however its main thread ends."""
    programs = [_streaming(server, "", end) for end in ("", "sys.exit(3)", "raise KeyError")]
    with pytest.raises(subprocess.TimeoutExpired):
        programs[0].wait(timeout=3)
    running = [program.poll() is None for program in programs]
    for program in programs:
        with program:
            program.kill()
    assert running == [True] * 3


@pytest.mark.parametrize("close", ["client.stop_stream()", "client.close()"])
def test_closing_lets_it_end(server: TritonServer, close: str) -> None:
    """A program ends after either of the calls that close a stream."""
    with _streaming(server, close, "") as running:
        assert running.wait(timeout=60) == 0


def _streaming(server: TritonServer, close: str, end: str) -> subprocess.Popen[str]:
    """Run a program that has used its stream and is about to end."""
    code = STREAMING.format(address=server.grpc, close=close, end=end)
    started = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "done\n"
    return started


def test_arrays_of_text_have_no_datatype() -> None:
    """Triton has no type for ``U`` arrays; object arrays of these texts are BYTES."""
    texts = np.array(["a", "bc"])
    assert np_to_triton_dtype(texts.dtype) is None
    assert np_to_triton_dtype(texts.astype(object).dtype) == "BYTES"


def test_sizes_of_serialised_strings() -> None:
    """``nbytes`` of an object array counts pointers; the strings alone lack four bytes each."""
    texts = np.array([b"a", b"bc"], dtype=object)
    serialised = serialize_byte_tensor(texts)
    assert serialised.nbytes == np.dtype(object).itemsize != len(serialised.item())
    assert serialized_byte_size(serialised) == len(serialised.item())
    assert serialized_byte_size(texts) == len(serialised.item()) - 4 * texts.size
