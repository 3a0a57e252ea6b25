"""Two servers of one small model, HTTP and gRPC, with replies that a test replaces."""

from __future__ import annotations

import json
import re
import struct
from concurrent import futures
from contextlib import suppress
from typing import Any, Tuple, Union

import grpc
import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2 as v2

from tests.backends.scripted_server import CLOSE_AFTER, ScriptedServer, http

#: A reply over HTTP: status 200 with a body and the length of its JSON header, or the complete
#: reply.
Body = Tuple[bytes, Union[str, None]]

SCORES = np.array([1.0, 2.0], np.float32)
_TEXTS = (b"2.000000:1:b", b"1.000000:0:a")
CLASSES = b"".join(struct.pack("<I", len(text)) + text for text in _TEXTS)


def model_config(name: str = "m", stateful: bool = False) -> dict[str, Any]:
    """Return a model whose second output has labels.

    A stateful one leaves classifying to the server.
    """
    config: dict[str, Any] = {
        "name": name,
        "backend": "python",
        "max_batch_size": 0,
        "input": [{"name": "IN", "data_type": "TYPE_FP32", "dims": [2]}],
        "output": [
            {"name": "OUT", "data_type": "TYPE_FP32", "dims": [2]},
            {"name": "LABELLED", "data_type": "TYPE_FP32", "dims": [2], "label_filename": "l"},
        ],
        "model_transaction_policy": {"decoupled": False},
        "version_policy": {"latest": {"num_versions": 1}},
        "instance_group": [{"name": "g", "count": 1, "kind": "KIND_CPU"}],
        "dynamic_batching": {"preferred_batch_size": [1], "priority_levels": 2},
        "parameters": {"p": {"string_value": "v"}},
    }
    if stateful:
        del config["dynamic_batching"]
        config["sequence_batching"] = {"max_sequence_idle_microseconds": 5}
    return config


_DURATION = {"count": 1, "ns": 1000}
_BATCH = {"compute_input": _DURATION, "compute_infer": _DURATION, "compute_output": _DURATION}
STATISTICS: dict[str, Any] = {
    "model_stats": [
        {
            "name": "m",
            "version": "1",
            "last_inference": 1,
            "inference_count": 1,
            "execution_count": 1,
            "inference_stats": {**_BATCH, **dict.fromkeys(("success", "queue"), _DURATION)},
            "batch_stats": [{"batch_size": 1, **_BATCH}],
        }
    ]
}
METADATA = {"name": "server", "version": "2", "extensions": ["statistics"]}
INDEX = [{"name": "m", "version": "1", "state": "READY", "reason": ""}]
SYSTEM = [{"name": "r", "key": "/r", "offset": 0, "byte_size": 8}]
CUDA = [{"name": "c", "device_id": 0, "byte_size": 8}]


def reply(classes: bool = False) -> dict[str, Any]:
    """Return the header of an inference reply with both outputs."""
    data = CLASSES if classes else SCORES.tobytes()
    parameters = {"binary_data_size": len(data)}
    datatype = "BYTES" if classes else "FP32"
    outputs = [
        {"name": name, "datatype": datatype, "shape": [2], "parameters": parameters}
        for name in (("LABELLED",) if classes else ("OUT", "LABELLED"))
    ]
    return {"model_name": "m", "model_version": "1", "outputs": outputs}


def output(**members: Any) -> dict[str, Any]:
    """Return a reply over HTTP with a changed first output."""
    header = reply()
    header["outputs"] = [{**header["outputs"][0], **members}]
    return header


def with_data(header: Any, data: bytes) -> Body:
    """Return the bytes of a reply with this header and data."""
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return head + data, str(len(head))


def _plain(answer: Any) -> Body:
    return json.dumps(answer).encode(), None


#: The reply to each kind of request, unless a test replaces it.
HTTP_ANSWERS: dict[str, Body] = {
    "config": _plain(model_config()),
    "stateful": _plain(model_config("s", stateful=True)),
    "metadata": _plain(METADATA),
    "statistics": _plain(STATISTICS),
    "index": _plain(INDEX),
    "system": _plain(SYSTEM),
    "cuda": _plain(CUDA),
    "command": (b"", None),
    "health": (b"", None),
    "infer": with_data(reply(), 2 * SCORES.tobytes()),
    "classes": with_data(reply(classes=True), CLASSES),
}

_HTTP_KINDS = (
    (rb"\A\S+ /v2 ", "metadata"),
    (rb"\A\S+ /v2/models/s/config", "stateful"),
    (rb"\A\S+ \S+/config ", "config"),
    (rb"\A\S+ \S+/stats ", "statistics"),
    (rb"\A\S+ \S+/index ", "index"),
    (rb"\A\S+ \S+/systemsharedmemory/status ", "system"),
    (rb"\A\S+ \S+/cudasharedmemory/status ", "cuda"),
    (rb'\A\S+ \S+/infer .*"classification"', "classes"),
    (rb"\A\S+ \S+/infer ", "infer"),
    (rb"\A\S+ \S+/health/", "health"),
    (rb"", "command"),
)


class HttpAnswers(ScriptedServer):
    """``replaced``: the reply to a kind of request, a body with its header length or all bytes."""

    def __init__(self) -> None:
        self.replaced: dict[str, Body | bytes] = {}
        super().__init__(self._answer_to)

    def _answer_to(self, request: bytes) -> bytes:
        kind = next(kind for pattern, kind in _HTTP_KINDS if re.search(pattern, request, re.DOTALL))
        answer = self.replaced.get(kind, HTTP_ANSWERS[kind])
        if isinstance(answer, bytes):
            return answer + CLOSE_AFTER
        body, length = answer
        return http(200, body, *([f"Inference-Header-Content-Length: {length}"] if length else []))


def _infer_response(classes: bool) -> Any:
    response = v2.ModelInferResponse(model_name="m", model_version="1")
    for output in reply(classes)["outputs"]:
        response.outputs.add(name=output["name"], datatype=output["datatype"], shape=[2])
        response.raw_output_contents.append(CLASSES if classes else SCORES.tobytes())
    return response


def _parsed(kind: Any, content: Any) -> Any:
    return json_format.ParseDict(content, kind())


#: The replies over gRPC, as messages.
GRPC_ANSWERS: dict[str, Any] = {
    "config": _parsed(v2.ModelConfigResponse, {"config": model_config()}),
    "stateful": _parsed(v2.ModelConfigResponse, {"config": model_config("s", stateful=True)}),
    "metadata": v2.ServerMetadataResponse(**METADATA),
    "statistics": _parsed(v2.ModelStatisticsResponse, STATISTICS),
    "index": _parsed(v2.RepositoryIndexResponse, {"models": INDEX}),
    "system": _parsed(v2.SystemSharedMemoryStatusResponse, {"regions": {"r": SYSTEM[0]}}),
    "cuda": _parsed(v2.CudaSharedMemoryStatusResponse, {"regions": {"c": CUDA[0]}}),
    "health": v2.ServerLiveResponse(live=True),
    "command": v2.RepositoryModelLoadResponse(),
    "infer": _infer_response(classes=False),
    "classes": _infer_response(classes=True),
    "stream": v2.ModelStreamInferResponse(infer_response=_infer_response(classes=False)),
}

_GRPC_KINDS = {
    "ServerMetadata": "metadata",
    "ModelConfig": "config",
    "ModelStatistics": "statistics",
    "RepositoryIndex": "index",
    "SystemSharedMemoryStatus": "system",
    "CudaSharedMemoryStatus": "cuda",
    "ServerLive": "health",
    "ServerReady": "health",
    "ModelInfer": "infer",
}
_STATEFUL = v2.ModelConfigRequest(name="s").SerializeToString()


class GrpcAnswers(grpc.GenericRpcHandler):
    """``replaced``: the bytes of the reply to a kind of request; a context manager."""

    def __init__(self) -> None:
        self.replaced: dict[str, bytes] = {}
        self._answers: dict[str, bytes] = {
            kind: message.SerializeToString() for kind, message in GRPC_ANSWERS.items()
        }
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> GrpcAnswers:
        self._server.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.stop(None)

    def service(self, details: Any) -> Any:
        """Return a handler for any method that takes and returns bytes."""
        method = details.method.rpartition("/")[2]
        if method == "ModelStreamInfer":
            return grpc.stream_stream_rpc_method_handler(self._stream)
        kind = _GRPC_KINDS.get(method, "command")
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._answer(kind, request)
        )

    def _answer(self, kind: str, request: bytes) -> bytes:
        if kind == "config" and request == _STATEFUL:
            kind = "stateful"
        if kind == "infer" and b"classification" in request:
            kind = "classes"
        return self.replaced.get(kind, self._answers[kind])

    def _stream(self, requests: Any, context: Any) -> Any:
        for request in requests:
            message = v2.ModelInferRequest.FromString(request)
            content = self.replaced.get("stream", self._answers["stream"])
            with suppress(DecodeError):  # else it is sent as it is
                response = v2.ModelStreamInferResponse.FromString(content)
                response.infer_response.id = message.id
                content = response.SerializeToString()
            yield content
