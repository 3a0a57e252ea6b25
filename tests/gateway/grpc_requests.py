"""Requests to v1's gRPC service, as the tests of the gateway send them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tritonclient_shim.protos import grpc_service_pb2 as pb

A, B = np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)


def simple(number: int = 0, **fields: Any) -> pb.InferRequest:
    """A request to ``simple`` with an id."""
    request = pb.InferRequest(model_name="simple", model_version=-1, **fields)
    request.meta_data.batch_size, request.meta_data.id = 1, number
    for name in ("INPUT0", "INPUT1"):
        request.meta_data.input.add(name=name, dims=[16])
    for name in ("OUTPUT0", "OUTPUT1"):
        request.meta_data.output.add(name=name)
    request.raw_input.extend([A.tobytes(), B.tobytes()])
    return request


def failing(number: int, value: float) -> pb.InferRequest:
    """A request to ``failing``, which refuses any value but 0."""
    request = pb.InferRequest(model_name="failing", model_version=-1)
    request.meta_data.batch_size, request.meta_data.id = 1, number
    request.meta_data.input.add(name="INPUT0", dims=[1])
    request.meta_data.output.add(name="OUTPUT0")
    request.raw_input.append(np.array([value], np.float32).tobytes())
    return request


def seconds(count: float) -> bytes:
    """The input with which ``slow`` is busy for so long."""
    return bytes(np.array([count], np.float32))


def slow(number: int, value: float) -> pb.InferRequest:
    """A request that keeps ``slow`` busy."""
    request = pb.InferRequest(model_name="slow", model_version=-1)
    request.meta_data.batch_size, request.meta_data.id = 1, number
    request.meta_data.input.add(name="INPUT0", dims=[1])
    request.meta_data.output.add(name="OUTPUT0")
    request.raw_input.append(seconds(value))
    return request
