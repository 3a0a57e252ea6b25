"""The v2 server behind the gateway, as v1's service, which has an answer to every request."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any, Callable, ContextManager, TypeVar

from tritonclient_shim.core.addresses import without_user
from tritonclient_shim.core.errors import (
    Fault,
    InferenceServerException,
    ServerFault,
    TransportFault,
    TransportKind,
    Unsendable,
    cause_of,
)
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.releases import Release
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.upstream.health import Health
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.service import status
from tritonclient_shim.service.control import ControlService
from tritonclient_shim.service.infer import InferService
from tritonclient_shim.session.server import ServerSession

R = TypeVar("R")

log = logging.getLogger("tritonclient_shim.gateway")

#: Loading a model may take this many times as long as an inference.
_LOADS = 10

_LATE = (
    "it did not answer within {0:g} seconds: send the request again, or start the gateway with a "
    "larger {1}"
)


class _GatewaySession(ServerSession):
    """A server whose id may be given to the gateway; otherwise it is asked for when needed.

    ``timeout`` is the number of seconds that the server has for each answer, and ``option`` the
    gateway's option that changes it. A time limit of the settings goes before.
    """

    def __init__(self, endpoint: Endpoint, options: GatewayOptions, timeout: float, option: str):
        super().__init__(endpoint)
        self._server_id = options.server_id
        self.timeout = self.settings.network_timeout or timeout
        self._option = option
        self.settings = replace(self.settings, network_timeout=self.timeout)

    @property
    def known_id(self) -> str:
        """The server's id, '' if it is not known yet. Does not ask the server."""
        return self._server_id

    def fault_to_error(self, fault: Fault, *more: Any, **named: Any) -> InferenceServerException:
        """What went wrong below → the error; one that came of the time limit tells of it."""
        if isinstance(fault, TransportFault) and fault.kind is TransportKind.TIMEOUT:
            fault = self.timed_out()
        return super().fault_to_error(fault, *more, **named)

    def timed_out(self) -> TransportFault:
        """No answer has come within the time limit."""
        return TransportFault(_LATE.format(self.timeout, self._option))


class Upstream:
    """One v2 server over one protocol; every method may be called from any thread.

    Health and loads have connections of their own, because they have time limits of their own.
    """

    def __init__(self, endpoint: Endpoint, options: GatewayOptions, stopping: Stopping) -> None:
        self._given_id = options.server_id
        self._stopping = stopping
        self.release = Release(options.emulate)

        def session(timeout: float, option: str) -> _GatewaySession:
            return _GatewaySession(endpoint, options, timeout, option)

        self._session = session(options.upstream_timeout, "--upstream-timeout")
        loads = session(_LOADS * options.upstream_timeout, "--upstream-timeout")
        health = session(options.health_timeout, "--health-timeout")
        self._sessions = (self._session, loads, health)
        self.infer = InferService(self._session)
        self.control = ControlService(self._session)
        self._loads = ControlService(loads)
        self._health = Health(ControlService(health).health, self.failure, health.timeout)

    @property
    def known_id(self) -> str:
        """The server's id, '' if it is not known yet. Does not ask the server."""
        return self._session.known_id

    @property
    def id_is_known(self) -> bool:
        """Does :meth:`success` answer without asking the server?"""
        return bool(self._session.known_id)

    @property
    def backend(self) -> Any:
        """The backend of this server. Raises Fault."""
        return self._session.backend

    @property
    def timeout(self) -> float:
        """Seconds that the server has for an inference."""
        return self._session.timeout

    def timed_out(self) -> TransportFault:
        """The fault of an inference that the server has not answered in time."""
        return self._session.timed_out()

    def hang(self) -> TransportFault | None:
        """Ask whether the server hangs → the fault of the requests that wait for it; None if not.

        Returns within the time limit of health.
        """
        return self._health.hang()

    @property
    def patience(self) -> float:
        """Seconds that a request waits before the server is asked whether it hangs."""
        return self._health.patience

    def open(self) -> None:
        """Make everything ready for the first request; sends nothing.

        Raises SettingsError when a setting cannot be used.
        """
        for session in self._sessions:
            with suppress(Fault):  # which is told to the clients
                session.backend  # noqa: B018 (opens it)

    def close(self) -> None:
        """Close the connections."""
        for session in self._sessions:
            session.close()

    def health(self, request: pb.HealthRequest) -> pb.HealthResponse:
        """Liveness or readiness, within the time limit of health.

        A gateway that stops is not ready, whatever the server is.
        """
        if self._stopping.begun and request.mode == "ready":
            told = status.success(self.known_id, next_request_id())
            return pb.HealthResponse(request_status=told, health=False)
        return self._health.ask(request)

    def model_control(self, request: pb.ModelControlRequest) -> pb.ModelControlResponse:
        """Load or unload a model, within the time limit of loads."""
        return self._loads.model_control(request)

    def status(self, request: pb.StatusRequest) -> pb.StatusResponse:
        """The status of the server and its models, with the id that the gateway was given."""
        response = self.control.status(request)
        if self._given_id and response.HasField("server_status"):
            response.server_status.id = self._given_id
        if response.HasField("server_status"):
            self.release.trim_server_status(response.server_status)
        return response

    def answered(self, response_class: Callable[..., R], ask: Callable[[], R]) -> R:
        """The response that ``ask`` returns, or one that says why there is none."""
        try:
            response = ask()
        except Exception as error:  # a client waits for it, whatever has failed
            return response_class(request_status=self.failure(error))
        self.release.reword(response.request_status)  # type: ignore[attr-defined]
        return response

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

    def refused(self, error: InferenceServerException) -> Any:
        """v1's status of an inference that the server refused, or did not answer."""
        try:
            refusal = status.refused(error)
        except InferenceServerException:
            return self.failure(error)
        self.release.reword(refusal)
        return refusal

    def error_of(self, fault: Fault) -> InferenceServerException:
        """What broke a stream → the error for the requests that were not answered."""
        error = self._session.fault_to_error(fault)
        error.__cause__ = fault
        return error

    def defect(self, error: BaseException) -> InferenceServerException:
        """What failed inside the gateway, or in a plugin of the settings → the request's error."""
        log.error("a request failed inside the gateway", exc_info=error)
        text = f"the gateway failed: {type(error).__name__}: {error}"
        refusal = InferenceServerException(text, self._session.known_id, next_request_id())
        refusal.__cause__ = ServerFault(text, "INTERNAL")
        return refusal

    def _failure_of(self, error: BaseException) -> tuple[int, str, int]:
        if not isinstance(error, InferenceServerException):
            defect = self.defect(error)
            return request_status_pb2.INTERNAL, defect.message() or "", defect.request_id()
        if isinstance(cause_of(error), ServerFault):  # with a code that v1 did not have
            return request_status_pb2.UNKNOWN, error.message() or "", error.request_id()
        if isinstance(cause_of(error), Unsendable):
            return request_status_pb2.INVALID_ARG, error.message() or "", 0
        where = self._address
        text = (
            f"no answer from the inference server behind this gateway, {where}: {error.message()}"
        )
        return request_status_pb2.UNAVAILABLE, text, 0

    @property
    def _address(self) -> str:
        """The server's address for clients and logs, without user and password."""
        return without_user(self._session.endpoint.address)

    @property
    def where(self) -> str:
        """The server's address, for the log."""
        return f"{self._address} (gRPC)"

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
