"""The calls of v1's service that are no inference: v1 request messages in, v1 responses out."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from tritonclient_shim.core.errors import InferenceServerException, ServerFault
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import retired_pb2, server_status_pb2
from tritonclient_shim.service import status
from tritonclient_shim.session import control, shared_memory
from tritonclient_shim.session.server import ServerSession

R = TypeVar("R")

#: What answers a request: fills the response to the call of the given id.
Fill = Callable[[Any, int], None]

#: Commands of the retired Profile (see :meth:`ControlService.profile`).
_PROFILE_COMMANDS = ("start", "stop")
_NOT_PROFILED = "nothing is profiled: servers of the KServe v2 protocol have no profiler to control"


class ControlService:
    """Answers v1's control calls from one v2 server; thread-safe.

    Every method returns a response whose ``request_status`` tells the outcome, a refusal
    included (docs/v1-behaviour.md §9.2, §9.3), and raises InferenceServerException of the client
    family when the v2 server did not answer.
    """

    def __init__(self, session: ServerSession) -> None:
        self.session = session

    def status(self, request: pb.StatusRequest) -> pb.StatusResponse:
        """State of the server and of one model, or of all (docs/v1-behaviour.md §6.2)."""

        def fill(response: pb.StatusResponse, request_id: int) -> None:
            found = control.server_status(self.session, request.model_name, request_id)
            response.server_status.CopyFrom(found)

        return self._answer(pb.StatusResponse(), fill)

    def health(self, request: pb.HealthRequest) -> pb.HealthResponse:
        """Liveness or readiness (docs/v1-behaviour.md §6.1)."""
        ask = _HEALTH.get(request.mode)

        def fill(response: pb.HealthResponse, request_id: int) -> None:
            if ask is None:
                self._reach(request_id)
                raise self._odd(f"unknown health mode '{request.mode}'", request_id)
            response.health = ask(self.session, request_id)

        return self._answer(pb.HealthResponse(), fill)

    def model_control(self, request: pb.ModelControlRequest) -> pb.ModelControlResponse:
        """Load or unload a model; a load ends when the model is ready
        (docs/v1-behaviour.md §6.4).
        """
        act = control.load if request.type == pb.ModelControlRequest.LOAD else control.unload

        def fill(response: pb.ModelControlResponse, request_id: int) -> None:
            act(self.session, request.model_name, request_id)

        return self._answer(pb.ModelControlResponse(), fill)

    def repository(self, request: pb.RepositoryRequest) -> pb.RepositoryResponse:
        """Names of all models in the repositories (docs/v1-behaviour.md §6.3)."""

        def fill(response: pb.RepositoryResponse, request_id: int) -> None:
            if not request.HasField("index"):
                self._reach(request_id)
                raise self._odd("request type is not specified", request_id)
            response.index.CopyFrom(control.repository_index(self.session, request_id))

        return self._answer(pb.RepositoryResponse(), fill)

    def shared_memory_control(
        self, request: pb.SharedMemoryControlRequest
    ) -> pb.SharedMemoryControlResponse:
        """Register, unregister or list shared-memory regions by name (docs/v1-behaviour.md §6.5).

        The list is in ``shared_memory_status.shared_memory_region``, as the .proto says; what
        genuine clients read instead, :func:`with_regions_for_v1_clients` adds.
        """
        kind = request.WhichOneof("shared_memory_control")

        def fill(response: pb.SharedMemoryControlResponse, request_id: int) -> None:
            if kind is None:
                self._reach(request_id)
                raise self._odd("unknown sharedmemorycontrol request type", request_id)
            _SHARED_MEMORY[kind](self, request, response, request_id)

        return self._answer(pb.SharedMemoryControlResponse(), fill)

    def profile(self, request: retired_pb2.ProfileRequest) -> retired_pb2.ProfileResponse:
        """The retired Profile: ``start`` and ``stop`` succeed, and say that they did nothing.

        There is no such call in KServe v2. Programs that profile on the side go on; the
        status of their call has a message, which no success of v1 had.
        """

        def fill(response: retired_pb2.ProfileResponse, request_id: int) -> None:
            self._reach(request_id)
            if request.cmd not in _PROFILE_COMMANDS:
                raise self._odd(f"unknown profile command '{request.cmd}'", request_id)

        response = self._answer(retired_pb2.ProfileResponse(), fill)
        response.request_status.msg = response.request_status.msg or _NOT_PROFILED
        return response

    # ------------------------------------------------------------- shared memory, by kind

    def _register(self, request: Any, response: Any, request_id: int) -> None:
        wanted = request.register
        backend = self.session.backend
        kind = wanted.WhichOneof("shared_memory_types")
        with shared_memory.guard(self.session, request_id):
            if kind == "system_shared_memory":
                region = wanted.system_shared_memory
                shared_memory.register_system(
                    backend, wanted.name, region.shared_memory_key, wanted.byte_size, region.offset
                )
            elif kind == "cuda_shared_memory":
                cuda = wanted.cuda_shared_memory
                backend.register_cuda(
                    wanted.name, cuda.raw_handle, cuda.device_id, wanted.byte_size
                )
            else:
                backend.server_metadata()  # see _reach
                raise ServerFault(
                    f"failed to register shared memory region: '{wanted.name}', "
                    "improperly formed request.",
                    "INVALID_ARGUMENT",
                )

    def _unregister(self, request: Any, response: Any, request_id: int) -> None:
        with shared_memory.guard(self.session, request_id):
            shared_memory.unregister_name(self.session.backend, request.unregister.name)

    def _unregister_all(self, request: Any, response: Any, request_id: int) -> None:
        shared_memory.unregister_all(self.session, request_id)

    def _regions(self, request: Any, response: Any, request_id: int) -> None:
        found = shared_memory.status(self.session, request_id).shared_memory_region
        response.shared_memory_status.SetInParent()
        response.shared_memory_status.shared_memory_region.extend(found)

    # ----------------------------------------------------------------------------- answers

    def _reach(self, request_id: int) -> None:
        """Raise where no server is: a request that is refused here had an answer from it in v1.

        Programs tell by such a request, ``Profile`` for one, whether the server is there.
        """
        with self.session.guard(request_id):
            self.session.backend.server_metadata()

    def _odd(self, message: str, request_id: int) -> InferenceServerException:
        """The refusal of a request that asks for nothing known: v1's UNKNOWN
        (docs/v1-behaviour.md §9.2).
        """
        fault = ServerFault(message, "UNKNOWN")
        error = self.session.fault_to_error(fault, request_id)
        error.__cause__ = fault
        return error

    def _answer(self, response: R, fill: Fill) -> R:
        request_id = next_request_id()
        try:
            fill(response, request_id)
        except InferenceServerException as error:
            outcome = status.refused(error)
        else:
            outcome = status.success(self.session.server_id(), request_id)
        response.request_status.CopyFrom(outcome)  # type: ignore[attr-defined]
        return response


_HEALTH = {"live": control.is_live, "ready": control.is_ready}

_SHARED_MEMORY: dict[str, Callable[[ControlService, Any, Any, int], None]] = {
    "register": ControlService._register,
    "unregister": ControlService._unregister,
    "unregister_all": ControlService._unregister_all,
    "status": ControlService._regions,
}


def with_regions_for_v1_clients(
    response: pb.SharedMemoryControlResponse,
) -> pb.SharedMemoryControlResponse:
    """The response, its regions once more where genuine clients look for them.

    v1's server sent a serialised SharedMemoryStatus in place of the declared message: regions
    travelled as field 2, unknown to ``Status``, and v1's clients read only those
    (docs/v1-behaviour.md §9.2).
    """
    if response.HasField("shared_memory_status"):
        regions = response.shared_memory_status.shared_memory_region
        sent = server_status_pb2.SharedMemoryStatus(shared_memory_region=regions)
        response.shared_memory_status.MergeFromString(sent.SerializeToString())
    return response
