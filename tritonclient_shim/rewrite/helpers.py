"""Calls of the retired API's shape, on the clients of tritonclient.

`tritonclient-shim migrate` wrote this file, with what the files beside it import.
"""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import sys
import threading
import time
import types
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from google.protobuf import json_format
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import (
    InferenceServerException,
    serialize_byte_tensor,
    shared_memory,
    triton_to_np_dtype,
)

#: Module of a protocol, by its name or by the number that it had.
CLIENTS: dict[Any, Any] = {"http": httpclient, "grpc": grpcclient, 0: httpclient, 1: grpcclient}

FLAG_NONE, FLAG_SEQUENCE_START, FLAG_SEQUENCE_END = 0, 1, 2


class ProtocolType(enum.IntEnum):
    """The protocols, by the names and numbers that they had."""

    HTTP = 0
    GRPC = 1

    @classmethod
    def from_str(cls, text: str) -> ProtocolType:
        """Return the protocol of a name in any case."""
        return cls[text.upper()]

    def __str__(self) -> str:
        return f"ProtocolType.{self.name}"


#: States of a server and of a version of a model, by the names and numbers that they had.
_SERVER_STATES = "INVALID INITIALIZING READY EXITING"
ServerReadyState = enum.IntEnum(  # type: ignore[misc]
    "ServerReadyState",
    [(f"SERVER_{name}", number) for number, name in enumerate(_SERVER_STATES.split())]
    + [("SERVER_FAILED_TO_INITIALIZE", 10)],
)
_MODEL_STATES = "UNKNOWN READY UNAVAILABLE LOADING UNLOADING"
ModelReadyState = enum.IntEnum(  # type: ignore[misc]
    "ModelReadyState",
    [(f"MODEL_{name}", number) for number, name in enumerate(_MODEL_STATES.split())],
)

#: Name of an input → one array for each entry of the batch.
Rows = Mapping[str, Sequence[Any]]
Done = Callable[[Any, Any], None]


def signed_id(number: int) -> int:
    """Return a sequence id of 64 bits as the signed number that gRPC takes."""
    return int(number) - 2**64 if number >= 2**63 else int(number)


def sequence_flags(flags: int) -> dict[str, bool]:
    """Return the arguments of `infer` for the flags of a request."""
    return {"sequence_start": bool(flags & 1), "sequence_end": bool(flags & 2)}


def version_text(version: int | None) -> str:
    """Return the version of a model as text, '' for the latest."""
    return "" if version is None or int(version) < 0 else str(int(version))


def with_headers(client: Any, texts: Sequence[str | bytes] | None) -> Any:
    """Return the client, which sends headers such as "Name: value" from now on."""
    lines = [text.decode() if isinstance(text, bytes) else text for text in texts or ()]
    pairs = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs if value.strip()}
    client.register_plugin(lambda request: request.headers.update(headers))
    return client


class ThreadedClient:
    """An HTTP client for several threads, with one connection for each of them."""

    module = httpclient

    def __init__(self, url: str, headers: Any = None, **options: Any) -> None:
        self._make = functools.partial(httpclient.InferenceServerClient, url, **options)
        self._headers, self._own = headers, threading.local()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not hasattr(self._own, "client"):
            self._own.client = with_headers(self._make(), self._headers)
        return getattr(self._own.client, name)

    def __enter__(self) -> ThreadedClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def connect(module: Any, url: str, headers: Any = None, **options: Any) -> Any:
    """Return a client that several threads may use."""
    if module is httpclient:
        return ThreadedClient(url, headers, **options)
    return with_headers(module.InferenceServerClient(url, **options), headers)


class LastRequest(NamedTuple):
    """The last request of a client: its number in this program, and the model that answered."""

    number: int | None = None
    model_name: str | None = None
    model_version: int | None = None


_request_numbers = itertools.count(1)


class RememberingClient:
    """A client that remembers its last request, and how long its requests took."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.last = LastRequest()
        self._count = self._nanoseconds = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def __enter__(self) -> RememberingClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.client.close()

    def infer(self, *arguments: Any, **options: Any) -> Any:
        """Infer, and remember the request."""
        self.last, started = LastRequest(), time.perf_counter_ns()
        return self._remember(self.client.infer(*arguments, **options), started)

    def async_infer(self, name: str, inputs: Any, callback: Any, **options: Any) -> Any:
        """Start a request, and remember it when it is done."""
        return self.client.async_infer(name, inputs, self._noting(callback), **options)

    def start_stream(self, callback: Any, **options: Any) -> None:
        """Open a stream, and remember what it answers."""
        self.client.start_stream(self._noting(callback), **options)

    def request_stat(self) -> dict[str, int]:
        """Return the number of requests that were answered, and the time that they took."""
        return {
            "completed_request_count": self._count,
            "cumulative_total_request_time_ns": self._nanoseconds,
        }

    def _noting(self, callback: Done) -> Done:
        started = time.perf_counter_ns()

        def done(result: Any, error: Any) -> None:
            if result is not None:
                self._remember(result, started)
            callback(result, error)

        return done

    def _remember(self, result: Any, started: int) -> Any:
        answer = result.get_response()
        if not isinstance(answer, dict):
            answer = {"model_name": answer.model_name, "model_version": answer.model_version}
        name, version = answer["model_name"], int(answer["model_version"])
        self.last = LastRequest(next(_request_numbers), name, version)
        self._count += 1
        self._nanoseconds += time.perf_counter_ns() - started
        return result


class Region(NamedTuple):
    """A region of shared memory: the handle, and what the server knows it by."""

    handle: Any
    name: str
    key: str
    byte_size: int


def create_region(name: str, key: str, byte_size: int) -> Region:
    """Create a region of shared memory."""
    handle = shared_memory.create_shared_memory_region(name, key, byte_size)
    return Region(handle, name, key, byte_size)


class Model(NamedTuple):
    """A model: its client, its name, and what each request for it has besides."""

    client: Any
    name: str
    options: dict[str, Any] = {}
    stream: bool = False  # True if asynchronous requests go over a stream

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def module_of(client: Any) -> Any:
    """Return tritonclient.grpc or tritonclient.http, whichever the client is from."""
    wrapped = getattr(client, "client", client)
    own = type(wrapped).__module__.partition("._")[0]
    return getattr(wrapped, "module", None) or sys.modules[own]


@functools.lru_cache(maxsize=None)
def config_of(client: Any, model_name: str) -> model_config_pb2.ModelConfig:
    """Return the configuration of a model, which is fetched once."""
    answer = client.get_model_config(model_name)
    if not isinstance(answer, dict):
        return answer.config
    message = model_config_pb2.ModelConfig()
    return json_format.ParseDict(answer, message, ignore_unknown_fields=True)


def check_model(client: Any, model_name: str) -> None:
    """Raise an error if the server does not have the model."""
    if not client.is_model_ready(model_name):
        text = f"no status available for unknown model '{model_name}'"
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")


def input_batch(config: Any, name: str, rows: Sequence[Any]) -> tuple[str, Any]:
    """Return the datatype of an input, and its rows as one array of the model's shape."""
    tensor = next((item for item in config.input if item.name == name), None)
    if tensor is None:
        raise InferenceServerException(f"unknown input '{name}' for '{config.name}'")
    datatype = model_config_pb2.DataType.Name(tensor.data_type)[len("TYPE_") :]
    batch = np.stack(rows)
    if datatype == "STRING":
        datatype = "BYTES"
        plain = [bytes(text) if isinstance(text, bytes) else text for text in batch.flat]
        batch = np.array(plain, object).reshape(batch.shape)
    else:
        batch = np.ascontiguousarray(batch).view(triton_to_np_dtype(datatype))
    dims = batch.shape[1:] if -1 in tensor.dims else tuple(tensor.dims)
    try:
        return datatype, batch.reshape((len(rows), *dims) if config.max_batch_size else dims)
    except ValueError as error:
        raise InferenceServerException(f"input '{name}': {error}") from error


def infer_inputs(client: Any, model_name: str, inputs: Rows) -> list[Any]:
    """Return the tensors of a request, from a list of arrays for each input."""
    config, tensors = config_of(client, model_name), []
    for name, rows in inputs.items():
        datatype, batch = input_batch(config, name, rows)
        tensor = module_of(client).InferInput(name, list(batch.shape), datatype)
        tensor.set_data_from_numpy(batch)
        tensors.append(tensor)
    return tensors


def requested_outputs(client: Any, outputs: Mapping[str, int]) -> list[Any]:
    """Return the outputs of a request, from the number of classes of each or 0 for the array."""
    make = module_of(client).InferRequestedOutput
    return [make(name, class_count=count) for name, count in outputs.items()]


def run_model(
    client: Any, model_name: str, inputs: Rows, outputs: Mapping[str, int], **options: Any
) -> dict[str, list[Any]]:
    """Infer; inputs and results have one array for each entry of the batch.

    outputs: name of each output -> how many classes to return, or 0 for the array.
    """
    tensors = infer_inputs(client, model_name, inputs)
    wanted = requested_outputs(client, outputs)
    result = client.infer(model_name, tensors, outputs=wanted, **options)
    return results_of(result, outputs, config_of(client, model_name))


def run_of(
    model: Model, inputs: Rows, outputs: Mapping[str, int], **options: Any
) -> dict[str, list[Any]]:
    """Call `run_model` for a Model, which knows its client and its name."""
    return run_model(model.client, model.name, inputs, outputs, **{**model.options, **options})


def results_of(
    result: Any, outputs: Mapping[str, int], config: model_config_pb2.ModelConfig
) -> dict[str, list[Any]]:
    """Return for each output a list of what each entry of the batch has."""
    found: dict[str, list[Any]] = {}
    for name, count in outputs.items():
        array = result.as_numpy(name).copy()
        output = result.get_output(name)
        if not array.size and isinstance(output, dict):  # older releases of tritonclient.http
            array = array.astype(triton_to_np_dtype(output["datatype"]))
        found[name] = list(array) if config.max_batch_size > 0 else [array]
        if count:
            found[name] = [classes_of(row) for row in found[name]]
    return found


def classes_of(texts: Any) -> list[tuple[int, float, str]]:
    """Return index, value and label of classes such as b"0.9:3:cat"."""
    parts = [(text.decode().split(":", 2) + [""])[:3] for text in texts.flat]
    return [(int(index), float(np.float32(value)), label) for value, index, label in parts]


def class_counts(outputs: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return how many classes each output has, from (1,) for the array or (2, k) for k classes."""
    return {name: form[1] if len(form) == 2 else 0 for name, form in outputs.items()}


def run_in_regions(
    client: Any,
    model_name: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    batch_size: int = 1,
    **options: Any,
) -> dict[str, list[Any]]:
    """Call `run_model` with a Region, or a Region and its shape, for some inputs and outputs."""
    config, make = config_of(client, model_name), module_of(client)
    tensors = []
    for name, rows in inputs.items():
        if isinstance(rows, Region) or isinstance(rows[0], Region):
            tensors.append(_region_input(make, config, name, rows, batch_size))
        else:
            tensors += infer_inputs(client, model_name, {name: rows})
    counts = {name: 0 if isinstance(to, Region) else to for name, to in outputs.items()}
    wanted = requested_outputs(client, counts)
    regions = {name: to for name, to in outputs.items() if isinstance(to, Region)}
    for output in wanted:
        if output.name() in regions:
            region = regions[output.name()]
            output.set_shared_memory(region.name, region.byte_size)
    result = client.infer(model_name, tensors, outputs=wanted, **options)
    plain = {name: count for name, count in counts.items() if name not in regions}
    found = results_of(result, plain, config)
    for name, region in regions.items():
        array = _array_in(region, result, name).copy()
        found[name] = list(array) if config.max_batch_size > 0 else [array]
    return found


def _region_input(make: Any, config: Any, name: str, rows: Any, batch_size: int) -> Any:
    """Return an input that the server reads from a region."""
    known = {item.name: item for item in config.input}[name]
    region, dims = (rows, known.dims) if isinstance(rows, Region) else rows
    datatype = model_config_pb2.DataType.Name(known.data_type)[len("TYPE_") :]
    datatype = datatype.replace("STRING", "BYTES")
    shape = [batch_size, *dims] if config.max_batch_size else list(dims)
    size = region.byte_size
    if datatype != "BYTES" and -1 not in shape:
        size = int(np.prod(shape)) * np.dtype(triton_to_np_dtype(datatype)).itemsize
    tensor = make.InferInput(name, shape, datatype)
    tensor.set_shared_memory(region.name, size)
    return tensor


def _array_in(region: Region, result: Any, name: str) -> Any:
    """Return the output that the server has written to a region."""
    output = result.get_output(name)
    if not isinstance(output, dict):
        output = {"datatype": output.datatype, "shape": output.shape}
    datatype, shape = triton_to_np_dtype(output["datatype"]), list(output["shape"])
    return shared_memory.get_contents_as_numpy(region.handle, datatype, shape)


_pool = ThreadPoolExecutor(4)
_sequences = ThreadPoolExecutor(1)  # keeps the requests of a sequence in their order


def send(client: Any, done: Done, *arguments: Any, **options: Any) -> None:
    """Send a request; call `done` with its result and its error, one of them None."""
    if module_of(client).__name__ == "tritonclient.grpc":
        client.async_infer(*arguments, done, **options)
        return

    def infer() -> None:
        try:
            result, error = client.infer(*arguments, **options), None
        except Exception as raised:
            result, error = None, raised
        done(result, error)

    (_sequences if options.get("sequence_id") else _pool).submit(infer)


_streams: dict[Any, dict[str, Done]] = {}  # by client and request id
_stream_numbers = itertools.count(1)


def send_on_stream(client: Any, done: Done, *arguments: Any, **options: Any) -> None:
    """Send a request on the stream of the client, which the first request opens."""
    if client not in _streams:
        _streams[client] = {}
        client.start_stream(functools.partial(_answered, client))
        threading.Thread(target=_stop_at_end, args=(client,), daemon=True).start()
    number = str(next(_stream_numbers))
    _streams[client][number] = done
    client.async_stream_infer(*arguments, request_id=number, **options)


def _answered(client: Any, result: Any, error: Any) -> None:
    waiting = _streams[client]
    number = next(iter(waiting)) if result is None else result.get_response().id
    waiting.pop(number)(result, error)


def _stop_at_end(client: Any) -> None:
    threading.main_thread().join()
    client.stop_stream()  # its thread would keep the program from ending


_requests: collections.defaultdict[Any, dict[int, Any]] = collections.defaultdict(
    dict
)  # by client and number
_numbers: collections.defaultdict[Any, Iterator[int]] = collections.defaultdict(
    lambda: itertools.count(1)
)


def start_run(
    client: Any,
    model_name: str,
    callback: Callable[[Any, int], None] | None,
    inputs: Rows,
    outputs: Mapping[str, int],
    owner: Any = None,
    stream: bool = False,
    **options: Any,
) -> int | None:
    """Start a request; return its number, or call the callback with it when it is done.

    callback: is called with the owner, or the client without one, and the number.
    stream: True if the request goes over the stream of the client.
    The other arguments are those of `run_model`.
    """
    tensors = infer_inputs(client, model_name, inputs)
    number, future = next(_numbers[client]), Future()  # type: ignore[var-annotated]
    _requests[client][number] = (future, outputs, config_of(client, model_name))

    def done(result: Any, error: Any) -> None:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
        if callback is not None:
            callback(client if owner is None else owner, number)

    options["outputs"] = requested_outputs(client, outputs)
    (send_on_stream if stream else send)(client, done, model_name, tensors, **options)
    return number if callback is None else None


def run_results(client: Any, number: int, wait: bool = True) -> dict[str, list[Any]] | None:
    """Return the results of a request; None if it runs and `wait` is false."""
    if number not in _requests[client]:
        raise InferenceServerException(f"no request with number {number}")
    future, outputs, config = _requests[client][number]
    if not wait and not future.done():
        return None
    del _requests[client][number]
    return results_of(future.result(), outputs, config)


def ready_request(client: Any, wait: bool = True) -> int | None:
    """Return the number of a request that is done; None if there is none."""
    started = {future: number for number, (future, _, _) in _requests[client].items()}
    done = futures.wait(started, None if wait else 0, futures.FIRST_COMPLETED).done
    return min((started[future] for future in done), default=None)


def server_metadata(client: Any) -> Any:
    """Return the name and the version of a server."""
    answer = client.get_server_metadata()
    return types.SimpleNamespace(**answer) if isinstance(answer, dict) else answer


def index_rows(client: Any) -> list[tuple[str, str, str]]:
    """Return name, version and state of each model in the server's repository."""
    answer = client.get_model_repository_index()
    if isinstance(answer, list):
        return [(item["name"], item.get("version", ""), item.get("state", "")) for item in answer]
    return [(model.name, model.version, model.state) for model in answer.models]


def repository_index(client: Any) -> Any:
    """Return the models of the server's repository, by name, as the attribute `models`."""
    names = sorted({name for name, _, _ in index_rows(client)})
    return types.SimpleNamespace(models=[types.SimpleNamespace(name=name) for name in names])


def model_counts(client: Any, model_name: str, version: str) -> tuple[int, int]:
    """Return how often a model was executed, and for how many inferences."""
    answer = client.get_inference_statistics(model_name, version)
    if isinstance(answer, dict):
        (row,) = answer["model_stats"]
        return row.get("execution_count", 0), row.get("inference_count", 0)
    return answer.model_stats[0].execution_count, answer.model_stats[0].inference_count


def server_status(client: Any, model_name: str | None = None) -> Any:
    """Return the state of a server and of its models, or of one of them."""
    metadata, live = server_metadata(client), client.is_server_live()
    models: collections.defaultdict[str, Any] = collections.defaultdict(
        lambda: types.SimpleNamespace(
            config=model_config_pb2.ModelConfig(),
            version_status=collections.defaultdict(
                lambda: types.SimpleNamespace(
                    ready_state=0, model_execution_count=0, model_inference_count=0
                )
            ),
        )
    )
    for name, version, state in index_rows(client):
        if state and version and model_name in (None, "", name):
            number = ModelReadyState["MODEL_" + state].value
            status = models[name].version_status[int(version)]
            status.ready_state = number
            counts = model_counts(client, name, version) if state == "READY" else (0, 0)
            status.model_execution_count, status.model_inference_count = counts
            if state == "READY":
                models[name].config = config_of(client, name)
    if model_name and model_name not in models:
        text = f"no status available for unknown model '{model_name}'"
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")
    return types.SimpleNamespace(
        id=metadata.name,
        version=metadata.version,
        ready_state=2 if live else 0,  # SERVER_READY, SERVER_INVALID
        model_status=models,
    )


def shared_memory_status(client: Any) -> Any:
    """Return the regions that the server knows, as its attribute `shared_memory_region`."""
    answer = client.get_system_shared_memory_status()
    if not isinstance(answer, list):
        answer = [json_format.MessageToDict(region, preserving_proto_field_name=True)
                  for region in answer.regions.values()]  # fmt: skip
    regions = sorted(answer, key=lambda region: str(region["name"]))
    return types.SimpleNamespace(shared_memory_region=[_known_region(**item) for item in regions])


def _known_region(name: str, key: str = "", offset: int = 0, byte_size: int = 0) -> Any:
    place = types.SimpleNamespace(shared_memory_key=key, offset=int(offset))
    return types.SimpleNamespace(name=name, byte_size=int(byte_size), system_shared_memory=place)


def serialize_strings(array: Any) -> Any:
    """Return strings as a region of shared memory has them, as an array of bytes."""
    return np.frombuffer(serialize_byte_tensor(np.asarray(array, object)).item(), np.uint8)


def message_of(error: Exception) -> str:
    """Return what an error says; over HTTP that of a connection is an OSError."""
    return str(error.message() if isinstance(error, InferenceServerException) else error)


def server_id_of(error: Exception) -> str:
    """Return the name of the server that raised an error, '' if none has answered."""
    status = error.status() if isinstance(error, InferenceServerException) else None
    return "" if status in (None, "StatusCode.UNAVAILABLE") else "triton"


def request_id_of(error: Exception) -> int:
    """Return 0: a server does not number its requests any more."""
    return 0


def _iterator(name: str) -> Callable[[Mapping[Any, Any]], Iterator[Any]]:
    return lambda mapping: iter(getattr(mapping, name)())


iteritems, itervalues, iterkeys = _iterator("items"), _iterator("values"), _iterator("keys")
