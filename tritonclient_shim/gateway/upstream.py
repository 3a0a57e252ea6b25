"""The v2 server behind the gateway, as v1's service, which has an answer to every request."""

from __future__ import annotations

import logging
from typing import Any, Callable, ContextManager, TypeVar

from tritonclient_shim.core.errors import (
    Fault,
    InferenceServerException,
    ServerFault,
    TransportFault,
    Unsendable,
)
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.service.control import ControlService
from tritonclient_shim.service.infer import InferService
from tritonclient_shim.session.server import ServerSession

R = TypeVar("R")

log = logging.getLogger("tritonclient_shim.gateway")

PROTOCOL_NAMES = {HTTP: "HTTP", GRPC: "gRPC"}


class _GatewaySession(ServerSession):
    """A server whose id may be given to the gateway; otherwise it is asked for when needed."""

    def __init__(self, endpoint: Endpoint, server_id: str) -> None:
        super().__init__(endpoint)
        self._server_id = server_id

    @property
    def known_id(self) -> str:
        """The server's id, '' if it is not known yet. Does not ask the server."""
        return self._server_id


class Upstream:
    """One v2 server over one protocol; every method may be called from any thread."""

    def __init__(self, endpoint: Endpoint, server_id: str) -> None:
        self._given_id = server_id
        self._session = _GatewaySession(endpoint, server_id)
        self.infer = InferService(self._session)
        self.control = ControlService(self._session)

    @property
    def known_id(self) -> str:
        """The server's id, '' if it is not known yet. Does not ask the server."""
        return self._session.known_id

    @property
    def backend(self) -> Any:
        """The backend of this server. Raises Fault."""
        return self._session.backend

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def status(self, request: pb.StatusRequest) -> pb.StatusResponse:
        """The status of the server and its models, with the id that the gateway was given."""
        response = self.control.status(request)
        if self._given_id and response.HasField("server_status"):
            response.server_status.id = self._given_id
        return response

    def answered(self, response_class: Callable[..., R], ask: Callable[[], R]) -> R:
        """The response that ``ask`` returns, or one that says that the v2 server did not answer."""
        try:
            return ask()
        except InferenceServerException as error:
            return response_class(request_status=self.failure(error))

    def reading(self, request_id: int) -> ContextManager[None]:
        """For a ``with`` block that reads the answer to an inference: its Fault is raised as
        InferenceServerException.
        """
        return self._session.guard(request_id)

    def success(self, request_id: int) -> Any:
        """v1's status of a request that has succeeded.

        It may ask the server for its id, so the event loop must not call it.
        """
        return request_status_pb2.RequestStatus(
            code=request_status_pb2.SUCCESS,
            server_id=self._session.server_id(),
            request_id=request_id,
        )

    def failure(self, error: BaseException) -> Any:
        """v1's status of a request that the v2 server did not answer, or the gateway failed at."""
        code, text, request_id = self._failure_of(error)
        return request_status_pb2.RequestStatus(
            code=code,
            msg=text,
            server_id=self._session.known_id,
            request_id=request_id or next_request_id(),
        )

    def _failure_of(self, error: BaseException) -> tuple[int, str, int]:
        if not isinstance(error, InferenceServerException):
            log.error("a request failed inside the gateway", exc_info=error)
            text = f"the gateway failed: {type(error).__name__}: {error}"
            return request_status_pb2.INTERNAL, text, 0
        if isinstance(error.__cause__, ServerFault):  # with a code that v1 did not have
            return request_status_pb2.UNKNOWN, error.message() or "", error.request_id()
        if isinstance(error.__cause__, Unsendable):
            return request_status_pb2.INVALID_ARG, error.message() or "", 0
        where = self._address
        text = (
            f"no answer from the inference server behind this gateway, {where}: {error.message()}"
        )
        return request_status_pb2.UNAVAILABLE, text, 0

    @property
    def _address(self) -> str:
        """The server's address for clients and logs, without user and password."""
        return self._session.endpoint.address.rpartition("@")[2]

    @property
    def where(self) -> str:
        """The server's address and protocol, for the log."""
        return f"{self._address} ({PROTOCOL_NAMES[self._session.endpoint.protocol]})"

    def why_unreachable(self) -> str:
        """Ask the server for its metadata → why there is no answer; '' if there is one."""
        try:
            self.backend.server_metadata()
        except ServerFault:
            return ""
        except TransportFault as fault:
            return fault.message
        except Fault:
            return "whoever answers is no v2 inference server"
        return ""
