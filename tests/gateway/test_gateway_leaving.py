"""gRPC clients that leave in the middle of a request; test_gateway_bad_bodies.py has HTTP's."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any

import grpc
import numpy as np
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import until
from tests.gateway.gateway_process import Gateway, StartGateway, code_of
from tests.gateway.grpc_requests import simple, slow
from tests.relays import Relay
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

pytest_plugins = ["tests.gateway.gateway_fixtures"]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
#: The head of a frame that announces 100 bytes of headers.
HEADERS = bytes([0, 0, 100, 1, 4, 0, 0, 0, 1])


def large() -> pb.InferRequest:
    """A request of 80 MB."""
    request = pb.InferRequest(model_name="identity_fp32", model_version=-1)
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name="INPUT0", dims=[20_000_000])
    request.meta_data.output.add(name="OUTPUT0")
    request.raw_input.append(np.zeros(20_000_000, np.float32).tobytes())
    return request


def answers(gateway: Gateway) -> bool:
    """Does the gateway answer an inference?"""
    return code_of(gateway.call("Infer", simple()).request_status) == "SUCCESS"


@pytest.mark.parametrize(
    "sent", [PREFACE[:10], PREFACE, PREFACE + HEADERS], ids=["preface", "settings", "headers"]
)
def test_raw_connections(behind: TritonServer, start_gateway: StartGateway, sent: bytes) -> None:
    """A connection that ends before its first request is no line of the log."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    host, _, port = gateway.grpc.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(sent)
        time.sleep(0.2)
    assert answers(gateway)
    assert gateway.said() == ""


@pytest.mark.parametrize("cut", [True, False], ids=["connection", "call"])
@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer"])
def test_half_of_a_message(
    behind: TritonServer, start_gateway: StartGateway, rpc: str, cut: bool
) -> None:
    """The call is cancelled, or the connection breaks, when a part of a message has come."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    row = v1.RPCS[rpc]
    with Relay(gateway.grpc) as relay:
        options = [("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0)]
        with grpc.insecure_channel(relay.address, options=options) as channel:
            invoke = channel.stream_stream(
                f"/{v1.SERVICE}/{rpc}", row.request.SerializeToString, row.response.FromString
            )
            call: Any = invoke(iter([large()]))
            until(lambda: relay.sent > 100_000)
            if cut:
                relay.cut()
            else:
                call.cancel()
            with suppress(grpc.RpcError):
                list(call)
    assert relay.sent < 80_000_000
    assert answers(gateway)
    assert gateway.said() == ""


@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer"])
def test_before_the_answer(behind: TritonServer, start_gateway: StartGateway, rpc: str) -> None:
    """The connection breaks while the request is computed: no line, and the next one is served."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    row = v1.RPCS[rpc]
    with Relay(gateway.grpc) as relay:
        options = [("grpc.enable_retries", 0)]
        with grpc.insecure_channel(relay.address, options=options) as channel:
            invoke = channel.stream_stream(
                f"/{v1.SERVICE}/{rpc}", row.request.SerializeToString, row.response.FromString
            )
            call: Any = invoke(iter([slow(1, 1.0)]))
            time.sleep(0.3)
            relay.cut()
            with suppress(grpc.RpcError):
                list(call)
    gateway.call("Infer", slow(2, 1.5))  # longer than the rest of the first one
    assert answers(gateway)
    assert gateway.said() == ""
