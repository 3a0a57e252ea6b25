"""v1's ``GRPCServiceStub`` on a channel to a v2 server (docs/v1-behaviour.md §9.2).

A server's refusal is in ``response.request_status``, with v1's code, and raises nothing. An error
that gRPC itself reports is raised as the ``grpc.RpcError`` that it is.
"""

from __future__ import annotations

from typing import Any

from tritonclient_shim import notice
from tritonclient_shim.service.control import ControlService
from tritonclient_shim.stub.channel import UsersChannel
from tritonclient_shim.stub.rpcs import InferRpc, StreamInferRpc, UnaryRpc

__all__ = ["GRPCServiceStub"]


class GRPCServiceStub:
    """Client of v1's GRPCService, answered by KServe v2 on the same channel.

    Deprecated [TS072], see migration_guide.md#raw-grpc-stub. Instead:
    tritonclient.grpc.service_pb2_grpc.GRPCInferenceServiceStub(channel) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    channel : grpc.Channel
        The user's own channel, with any options, credentials and interceptors. Its limits apply,
        such as gRPC's 4 MiB for a response unless the channel sets another.

    Attributes
    ----------
    Status, Health, Infer, ModelControl, SharedMemoryControl, Repository, Profile
        ``rpc(request, timeout=None, metadata=None, credentials=None, wait_for_ready=None,
        compression=None)``, and with the same arguments ``rpc.with_call`` and ``rpc.future``.
        ``timeout``, in seconds, is the limit of everything that one call does together.
        ``Profile`` was v1's until 1.6.
    StreamInfer
        ``rpc(iterator of requests, ...)`` → iterator over the responses, in the same order.

    Raises
    ------
    grpc.RpcError
        By a call, its future or its iterator: the request cannot be sent, or gRPC has no answer.
    TypeError
        By a call: an option is none that gRPC takes. For some, gRPC has other exceptions, such as
        KeyError for an unknown compression; they are raised as they are.
    """

    def __init__(self, channel: Any) -> None:
        notice.used("TS072")
        user = UsersChannel(channel)
        self.Infer = InferRpc(user)
        self.StreamInfer = StreamInferRpc(user)
        self.Status = UnaryRpc(user, "TS075", "Status", ControlService.status)
        self.Health = UnaryRpc(user, "TS076", "Health", ControlService.health)
        self.ModelControl = UnaryRpc(user, "TS077", "ModelControl", ControlService.model_control)
        self.SharedMemoryControl = UnaryRpc(
            user, "TS078", "SharedMemoryControl", ControlService.shared_memory_control
        )
        self.Repository = UnaryRpc(user, "TS079", "Repository", ControlService.repository)
        self.Profile = UnaryRpc(user, "TS080", "Profile", ControlService.profile)


GRPCServiceStub.__module__ = "tensorrtserver.api.grpc_service_pb2_grpc"
