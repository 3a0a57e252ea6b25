"""The contract of v1's service: raw stub, gateway over gRPC, gateway over HTTP.

(docs/v1-behaviour.md §3.4, §6, §9)
"""

from __future__ import annotations

import struct
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np
import pytest

from tensorrtserver.api import grpc_service_pb2 as pb
from tensorrtserver.api import model_config_pb2, server_status_pb2
from tensorrtserver.api import request_status_pb2 as codes
from testbed import TritonServer
from tests.gateway.gateway_process import Gateway
from tests.stub.service_calls import calls_of_stub, calls_over_http, stub_future, stub_stream
from tests.stub.stub_cases import (
    FP32_4,
    SUCCESS,
    classify_request,
    infer_request,
    is_sum,
    outputs_of,
    simple_request,
)
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.gateway.grpc.stream import is_fragile

LOAD, UNLOAD = pb.ModelControlRequest.LOAD, pb.ModelControlRequest.UNLOAD
WAYS: dict[str, Callable[[TritonServer, Gateway], Any]] = {
    "stub": lambda triton, gateway: calls_of_stub(triton.grpc),
    "gateway gRPC": lambda triton, gateway: gateway.call,
    "gateway HTTP": lambda triton, gateway: calls_over_http(gateway),
}


def _gateway(server: TritonServer) -> Iterator[Gateway]:
    gateway = Gateway("--triton-grpc", server.grpc, "--server-id", "triton")
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def gateway(triton: TritonServer) -> Iterator[Gateway]:
    """Yield a gateway in front of the session's server."""
    yield from _gateway(triton)


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest, triton: TritonServer, gateway: Gateway) -> Any:
    """Return the calls of each way, to the session's server."""
    return WAYS[request.param](triton, gateway)


@pytest.fixture(params=[*WAYS, "stub future", "stub stream", "gateway stream"])
def infer(request: pytest.FixtureRequest, triton: TritonServer, gateway: Gateway) -> Any:
    """Return Infer of each way, and each other style of the call."""
    if request.param in WAYS:
        ask = WAYS[request.param](triton, gateway)
        return lambda message: ask("Infer", message)
    if request.param == "gateway stream":
        return lambda message: next(gateway.stream([message]))
    way = {"stub future": stub_future, "stub stream": stub_stream}[request.param]
    return way(triton.grpc)


def outcome(response: Any) -> tuple[Any, str]:
    """Return code and message of a response that has a server id."""
    status = response.request_status
    assert (status.server_id, status.request_id > 0) == ("triton", True)
    return status.code, status.msg


# --------------------------------------------------------------------------------- inference


@pytest.mark.parametrize("dims", [(), (16,)], ids=["none", "entry"])
@pytest.mark.parametrize("sized", [False, True], ids=["unsized", "sized"])
def test_dims_and_sizes_may_be_omitted(ask: Any, dims: Any, sized: bool) -> None:
    """Inputs are accepted with and without dims, with and without their size in bytes."""
    # docs/v1-behaviour.md §F.7
    request = simple_request(5, batch=3)
    for item in request.meta_data.input:
        item.dims.extend(dims)
        item.batch_byte_size = 3 * 16 * 4 if sized else 0
    response = ask("Infer", request)
    assert is_sum(response, 5, batch=3)
    assert [list(output.raw.dims) for output in outputs_of(response)] == [[16], [16]]
    assert [output.raw.batch_byte_size for output in outputs_of(response)] == [192, 192]


@pytest.mark.smoke
def test_outputs_in_the_order_asked_for(ask: Any) -> None:
    """A response has an entry for each requested output, in order, and the request's id."""
    # docs/v1-behaviour.md §4.5, §9.2
    request = simple_request(3)
    del request.meta_data.output[:]
    for name in ("OUTPUT1", "OUTPUT0"):
        request.meta_data.output.add(name=name)
    first, response = ask("Infer", request), ask("Infer", request)
    assert [output.name for output in outputs_of(response)] == ["OUTPUT1", "OUTPUT0"]
    less, summed = (np.frombuffer(raw, np.int32) for raw in response.raw_output)
    assert (less[0], summed[0], response.meta_data.id) == (2, 4, 3)
    assert outcome(response) == (SUCCESS, "")
    assert response.request_status.request_id > first.request_status.request_id


def test_strings(ask: Any) -> None:
    """Strings have length prefixes (docs/v1-behaviour.md §3.6)."""
    expected = [(struct.pack("<I", 2) + b"14") * 16]
    assert ask("Infer", strings_request()).raw_output == expected


@pytest.mark.smoke
def test_classes(infer: Any) -> None:
    """Class values are the exact float32 scores. Classes have no bytes in the raw outputs."""
    # docs/v1-behaviour.md §4.2, §9.2
    request = classify_request(("OUTPUT", 2))
    scores = np.frombuffer(request.raw_input[0], np.float32).copy()
    scores[3] = np.float32(0.123456789e-7)
    request.raw_input[0] = scores.tobytes()
    request.meta_data.output[0].cls.count = 4
    response = infer(request)
    (output,) = outputs_of(response)
    result = [(entry.idx, entry.label, entry.value) for entry in output.batch_classes[0].cls]
    assert [(index, label) for index, label, _ in result] == [
        *((1, "l1"), (2, "l2"), (0, "l0"), (3, "a:b c"))
    ]
    assert [np.float32(value) for _, _, value in result] == [scores[i] for i in (1, 2, 0, 3)]
    assert list(response.raw_output) == [b""]


def test_one_output_several_times(infer: Any) -> None:
    """An output may be requested raw and as classes; each place in the request gets an entry."""
    # docs/v1-behaviour.md §9.2, §F.7
    request = classify_request(("OUTPUT", 2), ("OUTPUT", 0), ("OUTPUT", 1), ("OUTPUT", 0))
    response = infer(request)
    top_two, raw, top_one, again = outputs_of(response)
    assert [len(entry) for entry in response.raw_output] == [0, 40, 0, 40]
    assert [cls.idx for cls in top_two.batch_classes[0].cls] == [1, 2]
    assert [cls.idx for cls in top_one.batch_classes[0].cls] == [1]
    assert (list(raw.raw.dims), raw.raw.batch_byte_size) == ([10], 40)
    assert response.raw_output[1] == response.raw_output[3]
    assert again.raw == raw.raw


def test_model_version_used(ask: Any) -> None:
    """A response names the version that answered; -1 requests the latest version."""
    # docs/v1-behaviour.md §9.1
    request = infer_request("multi_version", {"INPUT0": FP32_4[:1]}, ["OUTPUT0"])
    for version, used in ((-1, 3), (2, 2)):
        request.model_version = version
        response = ask("Infer", request)
        assert (response.meta_data.model_name, response.meta_data.model_version) == (
            *("multi_version", used),
        )
        assert np.frombuffer(response.raw_output[0], np.float32)[0] == used


def test_sequence(infer: Any) -> None:
    """The header's flags and 64-bit correlation id reach a sequence model."""
    # docs/v1-behaviour.md §3.9
    sums = []
    for flags, value in ((1, 10), (0, 5), (2, 1)):
        request = infer_request("sequence_sum", {"INPUT": np.array([value], np.int32)}, ["OUTPUT"])
        request.meta_data.correlation_id = 2**63 + 77
        request.meta_data.flags = flags
        sums.append(int(np.frombuffer(infer(request).raw_output[0], np.int32)[0]))
    assert sums == [10, 15, 16]


class InvalidRequest(NamedTuple):
    """A request that is refused, with the expected code and text."""

    request: Any
    code: Any
    text: str


def strings_request(classes: int = 0) -> Any:
    """Return a request to ``simple_string``, for raw results or classes."""
    raw = (struct.pack("<I", 1) + b"7") * 16
    request = infer_request("simple_string", {"INPUT0": raw, "INPUT1": raw}, ["OUTPUT0"])
    for item in request.meta_data.input:
        item.batch_byte_size = len(raw)  # HTTP cuts the body by it
    if classes:
        request.meta_data.output[0].cls.count = classes
    return request


def region_request(name: str) -> Any:
    """Return a request whose first input is in a region."""
    request = simple_request(1)
    del request.raw_input[0]
    request.meta_data.input[0].shared_memory.name = name
    request.meta_data.input[0].shared_memory.byte_size = 64
    return request


def of_version(request: Any, version: int) -> Any:
    """Return a copy of the request for a version of its model."""
    result = pb.InferRequest.FromString(request.SerializeToString())
    result.model_version = version
    return result


ONE_FP32 = {"INPUT0": FP32_4[:1] * 0}
INVALID = codes.INVALID_ARG
REFUSED = {
    "model": InvalidRequest(
        simple_request(model="nope"), codes.UNAVAILABLE, "Request for unknown model: 'nope' is not"
    ),
    "inputs": InvalidRequest(
        infer_request("failing", {}), INVALID, "expected 1 inputs but got 0 inputs"
    ),
    "input": InvalidRequest(
        infer_request("failing", {"X": b"1234"}), INVALID, "unexpected inference input 'X'"
    ),
    "output": InvalidRequest(
        infer_request("failing", ONE_FP32, ["NONE"]),
        INVALID,
        "unexpected inference output 'NONE' for model 'failing'",
    ),
    "batch": InvalidRequest(
        simple_request(batch=9), INVALID, "inference request batch-size must be <= 8 for 'simple'"
    ),
    "no batch": InvalidRequest(
        simple_request(batch=0), INVALID, "inference request batch-size must be >= 1 for 'simple'"
    ),
    "dims": InvalidRequest(
        infer_request("identity_fp32", {"INPUT0": FP32_4}, ["OUTPUT0"]),
        INVALID,
        "model supports variable-size for input 'INPUT0', request must specify input shape for",
    ),
    "value": InvalidRequest(
        infer_request("failing", {"INPUT0": FP32_4[2:3]}, ["OUTPUT0"]),
        codes.INTERNAL,
        "the model refused value 3",
    ),
    "sequence": InvalidRequest(
        infer_request("sequence_sum", {"INPUT": np.zeros(1, np.int32)}, ["OUTPUT"]),
        INVALID,
        "inference request to model 'sequence_sum' must specify a non-zero correlation ID",
    ),
    "classes of an unknown input": InvalidRequest(
        classify_request(("OUTPUT0", 1), model="identity_string"), INVALID, "unexpected inference"
    ),
    "classes of strings": InvalidRequest(
        strings_request(classes=1),
        codes.UNSUPPORTED,
        "class result not available for output 'OUTPUT0' due to unsupported type 'TYPE_STRING'",
    ),
    "region": InvalidRequest(
        region_request("no where"),
        codes.NOT_FOUND,
        "Unable to find shared memory region: 'no where'",
    ),
    **{
        f"version of {kind}": InvalidRequest(
            of_version(request, 99),
            codes.UNAVAILABLE,
            "Request for unknown model: 'simple' version 99 is not found",
        )
        for kind, request in (
            ("a request", simple_request()),
            ("a wrong request", infer_request("simple", {})),
        )
    },
}


@pytest.mark.smoke
def test_refusals(infer: Any, triton: TritonServer, request: pytest.FixtureRequest) -> None:
    """A refusal has v1's code and text, echoes the id, and is no error of the transport."""
    # docs/v1-behaviour.md §3.4, §9.3
    old = is_fragile(open_backend(Endpoint(GRPC, triton.grpc)))
    for case, (message, code, text) in REFUSED.items():
        if old and case == "version of a request" and "[stub stream]" in request.node.name:
            continue  # Triton 2.33 crashes (docs/servers.md)
        message.meta_data.id = 2**63 + 5
        response = infer(message)
        refused_with, words = outcome(response)
        assert (refused_with, words[: len(text)]) == (code, text), case
        assert response.meta_data == pb.InferResponse(meta_data={"id": 2**63 + 5}).meta_data
        assert not response.raw_output


# ---------------------------------------------------------------- status, health, repository


@pytest.mark.smoke
def test_status_of_one_model(ask: Any) -> None:
    """The status of a model has its configuration and state, and no other model."""
    # docs/v1-behaviour.md §6.2
    response = ask("Status", pb.StatusRequest(model_name="image_classifier"))
    assert outcome(response) == (SUCCESS, "")
    status = response.server_status
    assert (status.id, status.ready_state) == ("triton", server_status_pb2.SERVER_READY)
    assert list(status.model_status) == ["image_classifier"]
    model = status.model_status["image_classifier"]
    assert model.config.input[0].format == model_config_pb2.ModelInput.FORMAT_NCHW
    assert model.version_status[1].ready_state == server_status_pb2.MODEL_READY


def test_status_of_all_models(ask: Any) -> None:
    """A status request without name returns every tracked model; uptime grows."""
    # docs/v1-behaviour.md §6.2
    first, second = (ask("Status", pb.StatusRequest()).server_status for _ in range(2))
    assert {"simple", "classify", "sequence_sum"} <= set(first.model_status)
    assert 0 < first.uptime_ns < second.uptime_ns


def test_status_of_an_unknown_model(ask: Any) -> None:
    """The status of an unknown model is INVALID_ARG, and empty (docs/v1-behaviour.md §9.3)."""
    response = ask("Status", pb.StatusRequest(model_name="nope"))
    assert outcome(response) == (INVALID, "no status available for unknown model 'nope'")
    assert not response.server_status.model_status


@pytest.mark.smoke
def test_health(ask: Any) -> None:
    """A running server is live and ready (docs/v1-behaviour.md §6.1)."""
    for mode in ("live", "ready"):
        response = ask("Health", pb.HealthRequest(mode=mode))
        assert (outcome(response), response.health) == ((SUCCESS, ""), True)


def test_repository(ask: Any) -> None:
    """The index has all names, sorted, loaded or not (docs/v1-behaviour.md §6.3)."""
    response = ask("Repository", pb.RepositoryRequest(index=True))
    names = [model.name for model in response.index.models]
    assert outcome(response) == (SUCCESS, "")
    assert {"simple", "spare", "broken"} <= set(names)
    assert names == sorted(names)


ODD = {
    "mode": ("Health", pb.HealthRequest(mode="well"), "unknown health mode 'well'"),
    "no mode": ("Health", pb.HealthRequest(), "unknown health mode ''"),
    "repository": ("Repository", pb.RepositoryRequest(), "request type is not specified"),
    "regions": (
        "SharedMemoryControl",
        pb.SharedMemoryControlRequest(),
        "unknown sharedmemorycontrol request type",
    ),
}


@pytest.mark.parametrize("way", ["stub", "gateway gRPC"])
@pytest.mark.parametrize("odd", ODD)
def test_odd_requests(triton: TritonServer, gateway: Gateway, way: str, odd: str) -> None:
    """A request of an unknown kind is UNKNOWN (docs/v1-behaviour.md §9.2)."""
    rpc, request, message = ODD[odd]
    response = WAYS[way](triton, gateway)(rpc, request)
    assert outcome(response) == (codes.UNKNOWN, message)


# ----------------------------------------------------------------------------------- control


@pytest.fixture(scope="module")
def changing() -> Iterator[tuple[TritonServer, Gateway]]:
    """Yield a server whose models are loaded and unloaded, and a gateway to it."""
    with TritonServer.start(models=["simple"]) as server:
        for gateway in _gateway(server):
            yield server, gateway


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.smoke
def test_load_and_unload(changing: Any, way: str) -> None:
    """A load ends when the model answers. A failed load is INTERNAL with v1's text."""
    # docs/v1-behaviour.md §6.4
    ask = WAYS[way](*changing)
    request = infer_request("spare", {"INPUT0": np.ones(1, np.float32)}, ["OUTPUT0"])

    def control(name: str, kind: Any) -> tuple[Any, str]:
        return outcome(ask("ModelControl", pb.ModelControlRequest(model_name=name, type=kind)))

    assert control("spare", LOAD) == (SUCCESS, "")
    assert ask("Infer", request).request_status.code == SUCCESS
    assert control("spare", UNLOAD) == (SUCCESS, "")
    gone = ask("Infer", request).request_status
    assert gone.code == codes.UNAVAILABLE
    assert gone.msg.startswith("Request for unknown model: 'spare' has no")
    assert control("nope", UNLOAD) == (SUCCESS, "")
    unknown = "failed to load 'nope', no version is available"
    assert control("nope", LOAD) == (codes.INTERNAL, unknown)
    broken = "failed to load 'broken', versions that are not available: 1"
    assert control("broken", LOAD) == (codes.INTERNAL, broken)
