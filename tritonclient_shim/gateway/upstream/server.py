"""The v2 server behind the gateway, as v1's service, which has an answer to every request."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any, Callable, TypeVar

from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    ServerError,
    TransportError,
    TransportKind,
    Unsendable,
    cause_of,
)
from tritonclient_shim.core.model import V1Reply, next_request_id
from tritonclient_shim.core.reading import read
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.releases import Release
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.service import (
    V1Service,
    refusal_status,
    success_status,
    with_regions_for_v1_clients,
)
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.settings.addresses import without_user

R = TypeVar("R")

log = logging.getLogger("tritonclient_shim.gateway")

#: Loading a model may take this many times as long as an inference.
_LOADS = 10

#: Bytes of a model's name. A model is a folder, or a prefix of object names in a store.
_LONGEST_NAME = 1024
_LONG_NAME = "the name of the model has {0} bytes: expected at most {1}"
_LATE = (
    "it did not answer within {0:g} seconds: send the request again, or start the gateway with a "
    "larger {1}"
)
_HANGS = (
    "it does not answer: this request has waited, and two questions for its health had {0:g} "
    "seconds each, the gateway's --health-timeout: send the request again when it works"
)


def check_model_name(name: str) -> None:
    """Raise ServerError for a name that no model has. Triton would repeat it in its error."""
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > _LONGEST_NAME:
        raise ServerError(_LONG_NAME.format(size, _LONGEST_NAME), "INVALID_ARGUMENT")


class _GatewaySession(ServerSession):
    """A session whose server id may be an option; otherwise the server is asked when needed.

    The server has ``timeout`` seconds for each answer; ``option`` is the gateway's option that
    changes them. A time limit of the settings goes before.
    """

    def __init__(self, options: GatewayOptions, timeout: float, option: str):
        super().__init__(options.triton_grpc)
        self._server_id = options.server_id
        self.timeout = self.settings.network_timeout or timeout
        self._option = option
        self.settings = replace(self.settings, network_timeout=self.timeout)

    @property
    def known_id(self) -> str:
        """Return the server's id, '' if it is not known yet. Do not ask the server."""
        return self._server_id

    def server_id(self) -> str:
        """Return the server's id, asked of it once; '' when it does not tell."""
        self._server_id = self._server_id or super().server_id()
        return self._server_id

    def to_v1_error(
        self, error: BackendError, *more: Any, **named: Any
    ) -> InferenceServerException:
        """Return v1's error for a backend error. After a timeout, its text names the option."""
        if isinstance(error, TransportError) and error.kind is TransportKind.TIMEOUT:
            error = self.timed_out()
        return super().to_v1_error(error, *more, **named)

    def timed_out(self) -> TransportError:
        """Return the error of a request that the server has not answered in time."""
        return TransportError(_LATE.format(self.timeout, self._option))


class Upstream:
    """One v2 server. Any thread may call every method.

    Health and loads have connections of their own, because they have time limits of their own.
    """

    def __init__(self, options: GatewayOptions, stopping: Stopping) -> None:
        self._options = options
        self._stopping = stopping
        self.release = Release(options.emulate)
        limit = options.upstream_timeout
        self.session = _GatewaySession(options, limit, "--upstream-timeout")
        loads = _GatewaySession(options, _LOADS * limit, "--upstream-timeout")
        health = _GatewaySession(options, options.health_timeout, "--health-timeout")
        self._sessions = (self.session, loads, health)
        self.health_timeout = health.timeout
        self.service = V1Service(self.session)
        self._loads = V1Service(loads)
        self._health = V1Service(health)

    @property
    def known_id(self) -> str:
        """Return the server's id, '' if it is not known yet. Do not ask the server."""
        return self.session.known_id

    def open(self) -> None:
        """Open the backends for the first request, and send nothing.

        Raise SettingsError if a setting cannot be used.
        """
        for session in self._sessions:
            with suppress(BackendError):  # each client gets it as an answer
                session.backend  # noqa: B018 (opens it)

    def close(self) -> None:
        """Close the connections."""
        for session in self._sessions:
            session.close()

    def health(self, request: pb.HealthRequest) -> pb.HealthResponse:
        """Return liveness or readiness, within the time limit of health.

        A gateway that stops is not ready, whatever the server reports.
        """
        if self._stopping.begun and request.mode == "ready":
            success = success_status(self.known_id, next_request_id())
            return pb.HealthResponse(request_status=success, health=False)
        response: pb.HealthResponse = self._health.answer("Health", request)
        return response

    def hangs(self) -> bool:
        """True if the server does not answer two health calls."""
        return self._is_silent() and self._is_silent()

    def _is_silent(self) -> bool:
        try:
            self._health.session.backend.live()
        except TransportError as error:
            return error.kind is TransportKind.TIMEOUT
        except Exception:  # whatever it is: the log reports it when a request fails
            return False
        return False

    def hang(self) -> TransportError:
        """Return the error of a request that waits for a server which hangs."""
        return TransportError(_HANGS.format(self.health_timeout))

    def model_control(self, request: pb.ModelControlRequest) -> pb.ModelControlResponse:
        """Load or unload a model, within the time limit of loads."""
        check_model_name(request.model_name)
        response: pb.ModelControlResponse = self._loads.answer("ModelControl", request)
        return response

    def status(self, request: pb.StatusRequest) -> pb.StatusResponse:
        """Return the status of the server and its models, with the id of ``--server-id``."""
        check_model_name(request.model_name)
        response: pb.StatusResponse = self.service.answer("Status", request)
        if response.HasField("server_status"):
            response.server_status.id = self._options.server_id or response.server_status.id
            self.release.set_version(response.server_status)
        return response

    def regions(self, request: pb.SharedMemoryControlRequest) -> pb.SharedMemoryControlResponse:
        """Register, unregister or list regions of shared memory."""
        return with_regions_for_v1_clients(self.service.answer("SharedMemoryControl", request))

    def response(self, exchange: Exchange, make: Callable[[Any, V1Reply], R]) -> tuple[Any, R]:
        """Return v1's status of an inference, and the result of ``make`` for it and the reply.

        Raise InferenceServerException if the request was refused, or the reply cannot be read. May
        ask the server.
        """
        return self.success(exchange, self.service.reply(exchange), make)

    def success(
        self, exchange: Exchange, reply: V1Reply, make: Callable[[Any, V1Reply], R]
    ) -> tuple[Any, R]:
        """Return v1's status of success, and the result of ``make`` for it and a reply.

        May ask the server for its id, unless ``known_id`` is set.
        """
        request_id = exchange.request_id
        success = success_status(self.session.server_id(), request_id)
        with self.session.guard(request_id):
            return success, read(make, success, reply)

    def failure(self, error: BaseException) -> Any:
        """Return v1's status of a request that was refused, not answered, or failed here."""
        if not isinstance(error, InferenceServerException):
            error = self._own(error)
        try:
            failure = refusal_status(error)
        except InferenceServerException:
            code, text = self._client_failure(error)
            failure = request_status_pb2.RequestStatus(
                code=code, msg=text, request_id=error.request_id()
            )
        failure.server_id = failure.server_id or self.known_id
        failure.request_id = failure.request_id or next_request_id()
        self.release.reword(failure)
        return failure

    def _own(self, error: BaseException) -> InferenceServerException:
        """Return the gateway's own refusal. Log an error inside the gateway."""
        if not isinstance(error, ServerError):
            log.error("a request failed inside the gateway", exc_info=error)
            text = f"the gateway failed: {type(error).__name__}: {error}"
            error = ServerError(text, "INTERNAL")
        refusal = InferenceServerException(error.message)
        refusal.__cause__ = error
        return refusal

    def _client_failure(self, error: InferenceServerException) -> tuple[int, str]:
        """Return v1's code and text of an error that is no refusal of v1's."""
        text = error.message() or ""
        if isinstance(cause_of(error), ServerError):  # with a code that v1 did not have
            return request_status_pb2.UNKNOWN, text
        if isinstance(cause_of(error), Unsendable):
            return request_status_pb2.INVALID_ARG, text
        behind = f"the inference server behind this gateway, {self.address}"
        return request_status_pb2.UNAVAILABLE, f"no answer from {behind}: {text}"

    @property
    def address(self) -> str:
        """Return the server's address for clients and logs, without user and password."""
        return without_user(self.session.endpoint.address)

    def why_unreachable(self) -> str:
        """Return why the server does not answer for its metadata, '' if it does."""
        try:
            self.session.backend.server_metadata()
        except ServerError:
            return ""
        except TransportError as error:
            return error.message
        except BackendError:
            return "whoever answers is no v2 inference server"
        return ""
