"""v1's ``GRPCServiceStub`` on a channel to a v2 server (docs/v1-behaviour.md §9.2).

A server's refusal is in ``response.request_status``, with v1's code, and raises nothing. An error
that gRPC itself reports is raised as the ``grpc.RpcError`` that it is.

A generated stub serialises any message, and the server reads the bytes as the request of the rpc.
Therefore programs may use messages of their own generated code, in descriptor
pools of their own, and even messages of another type, such as ``Profile(ModelConfig())``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import grpc

from tritonclient_shim import notice
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import BackendError
from tritonclient_shim.service import ALL_RPCS
from tritonclient_shim.session.inference import Answer, Answered, Refused
from tritonclient_shim.stub.calls import CallFuture, Calls, UsersChannel, parsed, serialized
from tritonclient_shim.stub.streams import StreamCall

__all__ = ["GRPCServiceStub"]

#: Threads of calls in progress that have to wait for the server.
_threads = DaemonExecutor(64, "v1-stub-call")


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
        self.Infer = InferRpc(user, "TS073", "Infer")
        self.StreamInfer = StreamInferRpc(user)
        self.Status = UnaryRpc(user, "TS075", "Status")
        self.Health = UnaryRpc(user, "TS076", "Health")
        self.ModelControl = UnaryRpc(user, "TS077", "ModelControl")
        self.SharedMemoryControl = UnaryRpc(user, "TS078", "SharedMemoryControl")
        self.Repository = UnaryRpc(user, "TS079", "Repository")
        self.Profile = UnaryRpc(user, "TS080", "Profile")


GRPCServiceStub.__module__ = "tensorrtserver.api.grpc_service_pb2_grpc"


# ---------------- callables, as ``channel.unary_unary`` and ``channel.stream_stream`` make them


class UnaryRpc(grpc.UnaryUnaryMultiCallable):
    """One request, one response.

    ``options`` are gRPC's: ``timeout``, ``metadata``, ``credentials``, ``wait_for_ready`` and
    ``compression``, by position or by name. Each call raises TypeError for any other.
    """

    def __init__(self, channel: UsersChannel, notice_id: str, rpc: str) -> None:
        self._notice_id = notice_id
        self._channel = channel
        self._rpc = rpc
        self._request_class = ALL_RPCS[rpc].request

    def __call__(self, request: Any, *options: Any, **named_options: Any) -> Any:
        """Return the response. Raise RpcError if the server did not answer."""
        response, _ = self.with_call(request, *options, **named_options)
        return response

    def with_call(self, request: Any, *options: Any, **named_options: Any) -> tuple[Any, Any]:
        """Return the response, and gRPC's view of the call."""
        notice.used(self._notice_id)
        calls = Calls(self._channel, *options, **named_options)
        message = request
        if type(request) is not self._request_class:
            message = parsed(self._request_class, serialized(self._request_class, request))
        call = CallFuture(calls)
        call.run(lambda: calls.service.answer(self._rpc, message))
        return call.result(), call

    def future(self, request: Any, *options: Any, **named_options: Any) -> CallFuture:
        """Copy the request, and start the call. Raise RpcError, as gRPC, for other objects."""
        notice.used(self._notice_id)
        content = serialized(self._request_class, request)
        calls = Calls(self._channel, *options, **named_options)
        future = CallFuture(calls)
        try:
            message = parsed(self._request_class, content)
        except grpc.RpcError as error:  # a server's answer to such bytes
            future.set_exception(error)
        else:
            self._start(message, calls, future)
        return future

    def _start(self, message: Any, calls: Calls, future: CallFuture) -> None:
        _threads.execute(partial(future.run, lambda: calls.service.answer(self._rpc, message)))


class InferRpc(UnaryRpc):
    """Infer. Its futures end with gRPC's own futures, so that no thread waits for a reply.

    Only the configuration of an unknown model needs a thread, which waits for it.
    """

    def _start(self, message: Any, calls: Calls, future: CallFuture) -> None:
        inference = calls.service.inference(message)
        if inference.model.profile is None:
            super()._start(message, calls, future)
            return

        def finish(answer: Answer) -> None:
            future.run(lambda: calls.service.response(answer))

        try:
            sendable = inference.prepare()
            calls.backend.infer_async(
                sendable.call, lambda outcome: finish(Answered(sendable, outcome))
            )
        except BackendError as error:
            finish(Refused(inference, error))


class StreamInferRpc(grpc.StreamStreamMultiCallable):
    """StreamInfer. It copies each request that the iterator yields; users may change it then."""

    def __init__(self, channel: UsersChannel) -> None:
        self._channel = channel

    def __call__(self, request_iterator: Any, *options: Any, **named_options: Any) -> StreamCall:
        """Start the stream; iterate over the result for the responses. See :class:`UnaryRpc`."""
        notice.used("TS074")
        calls = Calls(self._channel, *options, **named_options)
        return StreamCall(calls, request_iterator)
