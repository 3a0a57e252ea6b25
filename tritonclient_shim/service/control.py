"""The calls of v1's service that are no inference: v1 request messages in, v1 responses out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from tritonclient_shim.core.errors import InferenceServerException, ServerError
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import retired_pb2, server_status_pb2
from tritonclient_shim.service import status
from tritonclient_shim.session import control, shared_memory
from tritonclient_shim.session.server import ServerSession

#: Commands of the retired Profile (see :meth:`ControlService.profile`).
_PROFILE_COMMANDS = ("start", "stop")
_NOT_PROFILED = "nothing is profiled: servers of the KServe v2 protocol have no profiler to control"
_HEALTH = {"live": control.is_live, "ready": control.is_ready}


class ControlService:
    """Answers v1's control calls from one v2 server; thread-safe.

    The ``request_status`` of each response has the outcome, a refusal included
    (docs/v1-behaviour.md §9.2, §9.3). Every method raises InferenceServerException of the client
    family if the v2 server did not answer.
    """

    def __init__(self, session: ServerSession) -> None:
        self.session = session

    def status(self, request: pb.StatusRequest) -> pb.StatusResponse:
        """Return the state of the server and of one or all models (docs/v1-behaviour.md §6.2)."""
        response = pb.StatusResponse()
        with self._filling(response) as request_id:
            server_status = control.server_status(self.session, request.model_name, request_id)
            response.server_status.CopyFrom(server_status)
        return response

    def health(self, request: pb.HealthRequest) -> pb.HealthResponse:
        """Return liveness or readiness (docs/v1-behaviour.md §6.1)."""
        response = pb.HealthResponse()
        ask = _HEALTH.get(request.mode)
        with self._filling(response) as request_id:
            if ask is None:
                raise self._odd(f"unknown health mode '{request.mode}'", request_id)
            response.health = ask(self.session, request_id)
        return response

    def model_control(self, request: pb.ModelControlRequest) -> pb.ModelControlResponse:
        """Load or unload a model (docs/v1-behaviour.md §6.4).

        A load ends when the model is ready.
        """
        response = pb.ModelControlResponse()
        act = control.load if request.type == pb.ModelControlRequest.LOAD else control.unload
        with self._filling(response) as request_id:
            act(self.session, request.model_name, request_id)
        return response

    def repository(self, request: pb.RepositoryRequest) -> pb.RepositoryResponse:
        """Return the names of all models in the repositories (docs/v1-behaviour.md §6.3)."""
        response = pb.RepositoryResponse()
        with self._filling(response) as request_id:
            if not request.HasField("index"):
                raise self._odd("request type is not specified", request_id)
            response.index.CopyFrom(control.repository_index(self.session, request_id))
        return response

    def shared_memory_control(
        self, request: pb.SharedMemoryControlRequest
    ) -> pb.SharedMemoryControlResponse:
        """Register, unregister or list shared-memory regions by name (docs/v1-behaviour.md §6.5).

        The list is in ``shared_memory_status.shared_memory_region``, as the .proto says.
        :func:`with_regions_for_v1_clients` adds the field that genuine clients read.
        """
        response = pb.SharedMemoryControlResponse()
        kind = request.WhichOneof("shared_memory_control")
        with self._filling(response) as request_id:
            if kind == "register":
                self._register(request.register, request_id)
            elif kind == "unregister":
                with shared_memory.guard(self.session, request_id):
                    shared_memory.unregister_name(self.session.backend, request.unregister.name)
            elif kind == "unregister_all":
                shared_memory.unregister_all(self.session, request_id)
            elif kind == "status":
                regions = shared_memory.status(self.session, request_id).shared_memory_region
                response.shared_memory_status.SetInParent()
                response.shared_memory_status.shared_memory_region.extend(regions)
            else:
                raise self._odd("unknown sharedmemorycontrol request type", request_id)
        return response

    def _register(self, request: Any, request_id: int) -> None:
        backend = self.session.backend
        kind = request.WhichOneof("shared_memory_types")
        with shared_memory.guard(self.session, request_id):
            if kind == "system_shared_memory":
                region = request.system_shared_memory
                key, offset = region.shared_memory_key, region.offset
                shared_memory.register_system(backend, request.name, key, request.byte_size, offset)
            elif kind == "cuda_shared_memory":
                cuda = request.cuda_shared_memory
                backend.register_cuda(
                    request.name, cuda.raw_handle, cuda.device_id, request.byte_size
                )
            else:
                backend.server_metadata()  # see _reach
                raise ServerError(
                    f"failed to register shared memory region: '{request.name}', "
                    "improperly formed request.",
                    "INVALID_ARGUMENT",
                )

    def profile(self, request: retired_pb2.ProfileRequest) -> retired_pb2.ProfileResponse:
        """Accept the retired Profile's ``start`` and ``stop``, and do nothing.

        KServe v2 has no such call. Programs that profile on the side continue. The status of
        their call has a message, which no success of v1 had.
        """
        response = retired_pb2.ProfileResponse()
        with self._filling(response) as request_id:
            if request.cmd not in _PROFILE_COMMANDS:
                raise self._odd(f"unknown profile command '{request.cmd}'", request_id)
            self._reach(request_id)
        response.request_status.msg = response.request_status.msg or _NOT_PROFILED
        return response

    @contextmanager
    def _filling(self, response: Any) -> Iterator[int]:
        """Yield a request id to the block that fills the response, then add the outcome."""
        request_id = next_request_id()
        try:
            yield request_id
        except InferenceServerException as error:
            outcome = status.refused(error)
        else:
            outcome = status.success(self.session.server_id(), request_id)
        response.request_status.CopyFrom(outcome)

    def _reach(self, request_id: int) -> None:
        """Raise InferenceServerException if no server answers.

        In v1 the server itself refused a request that is refused here. Programs use such a
        request, for example ``Profile``, to check that the server answers.
        """
        with self.session.guard(request_id):
            self.session.backend.server_metadata()

    def _odd(self, message: str, request_id: int) -> InferenceServerException:
        """Return v1's UNKNOWN refusal of a request of no known kind (docs/v1-behaviour.md §9.2).

        Raise InferenceServerException if no server answers.
        """
        self._reach(request_id)
        backend_error = ServerError(message, "UNKNOWN")
        error = self.session.to_v1_error(backend_error, request_id)
        error.__cause__ = backend_error
        return error


def with_regions_for_v1_clients(
    response: pb.SharedMemoryControlResponse,
) -> pb.SharedMemoryControlResponse:
    """Return the response, with its regions also in the field that genuine clients read.

    v1's server sent a serialised SharedMemoryStatus in place of the declared message. Its regions
    are field 2, which ``Status`` does not declare. v1's clients read only this field
    (docs/v1-behaviour.md §9.2).
    """
    if response.HasField("shared_memory_status"):
        regions = response.shared_memory_status.shared_memory_region
        sent = server_status_pb2.SharedMemoryStatus(shared_memory_region=regions)
        response.shared_memory_status.MergeFromString(sent.SerializeToString())
    return response
