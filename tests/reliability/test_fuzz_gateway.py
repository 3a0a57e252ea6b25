"""The gateway's two protocols: any request gets a response, and the next response is correct."""

from __future__ import annotations

import re
import socket
from typing import Any, Iterator

import grpc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.odd_answers import message_bytes
from tests.gateway.bad_clients import Raw
from tests.gateway.gateway_process import Gateway, until
from tests.gateway.grpc_requests import BODY, SIMPLE, A, B, simple
from tests.reliability.fuzzing import fuzzed
from tests.reliability.odd_requests import REQUESTS, http_requests
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

_ANSWER = re.compile(rb"HTTP/[0-9]\.[0-9] ([0-9]{3}) ")


def threads(gateway: Gateway) -> int:
    """Return the number of threads of the gateway's process."""
    with open(f"/proc/{gateway.process.pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Threads"))


def logged(gateway: Gateway) -> list[str]:
    """Return the gateway's log, without what it has refused, and warnings of older protobufs."""
    own = ("Traceback", " tritonclient_shim.")
    lines = [line for line in gateway.log_text().splitlines() if any(text in line for text in own)]
    return [line for line in lines if "the gateway has refused a " not in line]


@pytest.fixture
def unharmed(gateway: Gateway) -> Iterator[Gateway]:
    """Yield the gateway.

    Check afterwards that it has logged nothing but refusals, and only its pools' threads exist.
    """
    before = logged(gateway)
    yield gateway
    assert gateway.process.poll() is None
    assert logged(gateway) == before
    until(lambda: threads(gateway) <= 64)


def http_well(gateway: Gateway) -> None:
    """Check that a good request over HTTP gets its right answer."""
    answer = gateway.infer("simple", SIMPLE + ' output { name: "OUTPUT0" }', BODY)
    assert answer.code == 200
    first, second = np.frombuffer(BODY, np.int32).reshape(2, 16)
    np.testing.assert_array_equal(np.frombuffer(answer.body[:64], np.int32), first + second)


def raw_answer(gateway: Gateway, request: bytes) -> bytes:
    """Return all bytes that a connection receives after these were sent."""
    client = Raw(gateway)
    client.push(request, 5.0)
    try:
        client.socket.shutdown(socket.SHUT_WR)
        return client.rest()
    except OSError as error:
        assert not isinstance(error, TimeoutError), "no answer, and no end"
        return b""
    finally:
        client.close()


@fuzzed("requests to the gateway")
@given(request=http_requests())
def test_http(unharmed: Gateway, request: bytes) -> None:
    """The gateway answers HTTP/1.1 with changed lines, paths, messages and bodies."""
    answer = raw_answer(unharmed, request)
    if answer:
        result = _ANSWER.match(answer)
        assert result, answer[:200]
        assert int(result.group(1)) in {100, 200, 400, 404, 405, 417, 426}, answer[:500]
        status = re.search(rb"\nNV-Status: (.*)", answer.partition(b"\r\n\r\n")[0])
        if result.group(1) == b"400" and status:  # unknown paths have none
            assert re.search(rb'msg: "[^"]', status.group(1)), answer[:500]
    http_well(unharmed)


def grpc_well(gateway: Gateway) -> None:
    """Check that a good request over gRPC gets its right answer."""
    answer = gateway.call("Infer", simple(7))
    assert answer.request_status.code == 1
    np.testing.assert_array_equal(np.frombuffer(answer.raw_output[0], np.int32), A + B)


def rpc_answers(channel: grpc.Channel, rpc: str, request: bytes) -> list[bytes]:
    """Return the answers to one request, as bytes."""
    path = f"/{v1.SERVICE}/{rpc}"
    if rpc == "StreamInfer":
        stream = channel.stream_stream(path)
        return list(stream(iter([request, simple(7).SerializeToString()]), timeout=60))
    return [channel.unary_unary(path)(request, timeout=60)]


@fuzzed("requests to the gateway")
@given(data=st.data())
def test_grpc(unharmed: Gateway, data: Any) -> None:
    """The gateway answers messages of v1's service with changed fields and bytes."""
    rpc = data.draw(st.sampled_from(list(REQUESTS)))
    request = message_bytes(data.draw, data.draw(st.sampled_from(REQUESTS[rpc])))
    try:
        with grpc.insecure_channel(unharmed.grpc) as channel:
            answers = rpc_answers(channel, rpc, request)
    except grpc.RpcError as error:
        assert error.details()
        assert error.code() in {grpc.StatusCode.INTERNAL}, error
        with pytest.raises(Exception, match="(?i)pars|decod|utf"):
            v1.RPCS[rpc].request.FromString(request)
    else:
        assert len(answers) == (2 if rpc == "StreamInfer" else 1)
        for item in answers:
            status = v1.RPCS[rpc].response.FromString(item).request_status
            assert status.code == 1 or (status.code and status.msg)
            assert status.code != 2 or "INTERNAL" not in status.msg
    grpc_well(unharmed)
