"""The v2 server behind the gateway, as v1's service that always answers."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, ContextManager, TypeVar

from tritonclient_shim.core.errors import (
    Fault,
    InferenceServerException,
    ServerFault,
    TransportFault,
    UnsendableName,
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

#: Seconds for which model configurations and labels are believed. Models may be reloaded
#: through another gateway, or behind the back of all.
BELIEVED = 30.0

NAMES = {HTTP: "HTTP", GRPC: "gRPC"}


class _Session(ServerSession):
    """A server of which the id may be given, and is known even while it does not answer."""

    def __init__(self, endpoint: Endpoint, server_id: str) -> None:
        super().__init__(endpoint)
        self._server_id = server_id

    @property
    def known_id(self) -> str:
        """The server's id as far as known, without asking."""
        return self._server_id


class Models:
    """When what is known of the models of one server was last found to be out of date."""

    def __init__(self) -> None:
        self.changed_at = 0.0

    def changed(self) -> None:
        """Models have been loaded or unloaded."""
        self.changed_at = time.monotonic()


class Upstream:
    """One v2 server over one protocol; every method may be called from any thread."""

    def __init__(self, endpoint: Endpoint, server_id: str, models: Models) -> None:
        self._given_id = server_id
        self._session = _Session(endpoint, server_id)
        self._models = models
        self._infer = InferService(self._session)
        self._renewed_at = time.monotonic()
        self.control = ControlService(self._session)

    @property
    def known_id(self) -> str:
        """The server's id as far as known, without asking."""
        return self._session.known_id

    @property
    def backend(self) -> Any:
        """The backend of this server. Raises Fault."""
        return self._session.backend

    @property
    def infer(self) -> InferService:
        """The inference service; what it knows of models is at most :data:`BELIEVED` old."""
        oldest = max(self._models.changed_at, time.monotonic() - BELIEVED)
        if self._renewed_at <= oldest:
            self._renewed_at = time.monotonic()
            self._infer = InferService(self._session)
        return self._infer

    def close(self) -> None:
        """Give the connections up."""
        self._session.close()

    def status(self, request: pb.StatusRequest) -> pb.StatusResponse:
        """State of the server and its models, under the id that the gateway was given."""
        response = self.control.status(request)
        if self._given_id and response.HasField("server_status"):
            response.server_status.id = self._given_id
        return response

    def model_control(self, request: pb.ModelControlRequest) -> pb.ModelControlResponse:
        """Load or unload a model; what was known of it is forgotten."""
        try:
            return self.control.model_control(request)
        finally:
            self._models.changed()

    def answered(self, response_class: Callable[..., R], ask: Callable[[], R]) -> R:
        """What ``ask`` returns; if the v2 server did not answer, a response that says so."""
        try:
            return ask()
        except InferenceServerException as error:
            return response_class(request_status=self.failure(error))

    def reading(self, request_id: int) -> ContextManager[None]:
        """Raise a Fault of the block, in which an inference's answer is read, as
        InferenceServerException.
        """
        return self._session.guard(request_id)

    def success(self, request_id: int) -> Any:
        """v1's status of a request that was answered. May ask the server for its id: not for
        the event loop.
        """
        return request_status_pb2.RequestStatus(
            code=request_status_pb2.SUCCESS,
            server_id=self._session.server_id(),
            request_id=request_id,
        )

    def failure(self, error: BaseException) -> Any:
        """v1's status of a request to which there is no answer, in v1's form all the same."""
        code, text, request_id = self._worded(error)
        return request_status_pb2.RequestStatus(
            code=code,
            msg=text,
            server_id=self._session.known_id,
            request_id=request_id or next_request_id(),
        )

    def _worded(self, error: BaseException) -> tuple[int, str, int]:
        if not isinstance(error, InferenceServerException):
            log.error("a request failed inside the gateway", exc_info=error)
            text = f"the gateway failed: {type(error).__name__}: {error}"
            return request_status_pb2.INTERNAL, text, 0
        if isinstance(error.__cause__, ServerFault):  # with a code that v1 did not have
            return request_status_pb2.UNKNOWN, error.message() or "", error.request_id()
        if isinstance(error.__cause__, UnsendableName):
            return request_status_pb2.INVALID_ARG, error.message() or "", 0
        where = self._address
        text = (
            f"no answer from the inference server behind this gateway, {where}: {error.message()}"
        )
        return request_status_pb2.UNAVAILABLE, text, 0

    @property
    def _address(self) -> str:
        """The server's address as clients and logs may see it: without user and password."""
        return self._session.endpoint.address.rpartition("@")[2]

    @property
    def where(self) -> str:
        """Address and protocol, for the log."""
        return f"{self._address} ({NAMES[self._session.endpoint.protocol]})"

    def silence(self) -> str:
        """Why the server does not say who it is; '' when it does, or refuses to."""
        try:
            self.backend.server_metadata()
        except ServerFault:
            return ""
        except TransportFault as fault:
            return fault.message
        except Fault:
            return "whoever answers is no v2 inference server"
        return ""
