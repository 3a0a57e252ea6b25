"""Requests to v1's service, over gRPC and HTTP, as the tests of the gateway send them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.gateway.gateway_process import Gateway, code_of
from tritonclient_shim.protos import grpc_service_pb2 as pb

A, B = np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)
#: Header and body of a request to ``simple`` over HTTP; header of a request to ``slow``.
SIMPLE = 'batch_size: 1 input { name: "INPUT0" dims: 16 } input { name: "INPUT1" dims: 16 }'
BODY = A.tobytes() + B.tobytes()
SLOW = 'batch_size: 1 input { name: "INPUT0" dims: 1 } output { name: "OUTPUT0" }'


def simple(number: int = 0, model: str = "simple", version: int = -1) -> pb.InferRequest:
    """Return a request to ``simple`` with an id."""
    request = pb.InferRequest(model_name=model, model_version=version)
    request.meta_data.batch_size, request.meta_data.id = 1, number
    for name in ("INPUT0", "INPUT1"):
        request.meta_data.input.add(name=name, dims=[16])
    for name in ("OUTPUT0", "OUTPUT1"):
        request.meta_data.output.add(name=name)
    request.raw_input.extend([A.tobytes(), B.tobytes()])
    return request


def of_floats(model: str, number: int, *values: float) -> pb.InferRequest:
    """Return a request to a model with one input and one output."""
    request = pb.InferRequest(model_name=model, model_version=-1)
    request.meta_data.batch_size, request.meta_data.id = 1, number
    request.meta_data.input.add(name="INPUT0", dims=[len(values)])
    request.meta_data.output.add(name="OUTPUT0")
    request.raw_input.append(np.array(values, np.float32).tobytes())
    return request


def failing(number: int, value: float) -> pb.InferRequest:
    """Return a request to ``failing``, which refuses any value but 0."""
    return of_floats("failing", number, value)


def slow(number: int, value: float) -> pb.InferRequest:
    """Return a request that keeps ``slow`` busy for ``value`` seconds."""
    return of_floats("slow", number, value)


def seconds(count: float) -> bytes:
    """Return the input that keeps ``slow`` busy for ``count`` seconds."""
    return bytes(np.array([count], np.float32))


def statuses_of(gateway: Gateway) -> list[Any]:
    """Return v1's statuses of an inference over HTTP and of an inference over gRPC."""
    over_grpc = gateway.call("Infer", simple()).request_status
    return [gateway.infer("simple", SIMPLE, BODY).status, over_grpc]


def serves(gateway: Gateway) -> bool:
    """True if inferences succeed over both protocols."""
    return {code_of(status) for status in statuses_of(gateway)} == {"SUCCESS"}


def health(mode: str = "live") -> Any:
    """Return a request for health."""
    return pb.HealthRequest(mode=mode)
