"""Every HTTP call except inference: path and query in, v1's answer out
(docs/v1-behaviour.md §9.1).

Each function runs on a thread, since it asks the v2 server. It returns v1's RequestStatus, for the
access log, and the answer.
"""

from __future__ import annotations

from typing import Any, Match

from tritonclient_shim.core.errors import InferenceServerException, Unsendable
from tritonclient_shim.gateway.http.answers import (
    BINARY,
    JSON,
    TEXT,
    answer,
    answer_message,
    query_format,
)
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import server_status_pb2

INT64, UINT64 = 2**63 - 1, 2**64 - 1  # the largest numbers of v1's messages


class HttpCall:
    """One HTTP request: what the functions below need of it."""

    def __init__(self, match: Match[str], query: str, accept: str, body: bytes) -> None:
        self.match = match
        self.accept = accept
        self.body = body
        self.format = query_format(query)

    @property
    def kind(self) -> str:
        """The format of the answer's body: text, unless the request asks for binary."""
        return BINARY if self.format == BINARY else TEXT


def number(digits: str, largest: int) -> int:
    """A number of a path; InferenceServerException for one that v1's messages cannot hold."""
    short = digits.lstrip("0")[:30]  # Python refuses to read thousands of digits
    if int(short or "0") <= largest:
        return int(short or "0")
    fault = Unsendable(
        f"the number {digits[:30]}{'…' * (len(digits) > 30)} in the path is too large: expected a "
        f"number of at most {largest}"
    )
    raise InferenceServerException(fault.message) from fault


def status(upstream: Upstream, call: HttpCall) -> Any:
    """GET /api/status, /api/status/<model>."""
    request = pb.StatusRequest(model_name=call.match[1] or "")
    response = upstream.answered(pb.StatusResponse, lambda: upstream.status(request))
    wants_json = call.format == JSON or (not call.format and call.accept == "application/json")
    kind = JSON if wants_json else call.kind
    return response.request_status, answer_message(
        response.request_status, response.server_status, kind, upstream.release.camel_case
    )


def health(upstream: Upstream, call: HttpCall) -> Any:
    """GET /api/health/live, /ready: the HTTP status is the answer."""
    request = pb.HealthRequest(mode=call.match[1])
    response = upstream.answered(pb.HealthResponse, lambda: upstream.health(request))
    return response.request_status, answer(response.request_status, good=response.health)


def model_control(upstream: Upstream, call: HttpCall) -> Any:
    """POST /api/modelcontrol/load/<model>, /unload/<model>."""
    kind = pb.ModelControlRequest.Type.Value(call.match[1].upper())
    request = pb.ModelControlRequest(model_name=call.match[2], type=kind)
    response = upstream.answered(pb.ModelControlResponse, lambda: upstream.model_control(request))
    return response.request_status, answer(response.request_status)


def repository(upstream: Upstream, call: HttpCall) -> Any:
    """GET /api/repository/index."""
    request = pb.RepositoryRequest(index=True)
    response = upstream.answered(
        pb.RepositoryResponse, lambda: upstream.control.repository(request)
    )
    return response.request_status, answer_message(
        response.request_status, response.index, call.kind
    )


def register(upstream: Upstream, call: HttpCall) -> Any:
    """POST /api/sharedmemorycontrol/register/<name>/<key with its slash>/<offset>/<size>."""
    request = pb.SharedMemoryControlRequest()
    request.register.name = call.match[1]
    request.register.byte_size = number(call.match[4], UINT64)
    system = request.register.system_shared_memory
    system.shared_memory_key, system.offset = call.match[2], number(call.match[3], UINT64)
    return _shared_memory(upstream, request)


def cuda_register(upstream: Upstream, call: HttpCall) -> Any:
    """POST /api/sharedmemorycontrol/cudaregister/<name>/<size>/<device>; the body is the handle."""
    request = pb.SharedMemoryControlRequest()
    request.register.name = call.match[1]
    request.register.byte_size = number(call.match[2], UINT64)
    cuda = request.register.cuda_shared_memory
    cuda.raw_handle, cuda.device_id = call.body, number(call.match[3], INT64)
    return _shared_memory(upstream, request)


def unregister(upstream: Upstream, call: HttpCall) -> Any:
    """POST /api/sharedmemorycontrol/unregister/<name>."""
    return _shared_memory(
        upstream, pb.SharedMemoryControlRequest(unregister={"name": call.match[1]})
    )


def unregister_all(upstream: Upstream, call: HttpCall) -> Any:
    """POST /api/sharedmemorycontrol/unregisterall."""
    return _shared_memory(upstream, pb.SharedMemoryControlRequest(unregister_all={}))


def regions(upstream: Upstream, call: HttpCall) -> Any:
    """GET /api/sharedmemorycontrol/status."""
    response = _control(upstream, pb.SharedMemoryControlRequest(status={}))
    found = response.shared_memory_status.shared_memory_region
    message = server_status_pb2.SharedMemoryStatus(shared_memory_region=found)
    return response.request_status, answer_message(response.request_status, message, call.kind)


def _shared_memory(upstream: Upstream, request: Any) -> Any:
    response = _control(upstream, request)
    return response.request_status, answer(response.request_status)


def _control(upstream: Upstream, request: Any) -> Any:
    return upstream.answered(
        pb.SharedMemoryControlResponse, lambda: upstream.control.shared_memory_control(request)
    )
