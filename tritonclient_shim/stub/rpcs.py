"""The callables of a stub, as ``channel.unary_unary`` and ``channel.stream_stream`` make them."""

from __future__ import annotations

from typing import Any, Callable

import grpc

from tritonclient_shim import notice
from tritonclient_shim.core.errors import Fault
from tritonclient_shim.core.model import ModelConfigDocument
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos.grpc_service_pb2_grpc import Rpc
from tritonclient_shim.service.streams import OrderedStream
from tritonclient_shim.session.inference import Answer, Refused
from tritonclient_shim.stub.channel import Arguments, Calls, UsersChannel
from tritonclient_shim.stub.errors import answered
from tritonclient_shim.stub.futures import CallFuture, FinishedCall, StreamCall
from tritonclient_shim.stub.requests import copies, own, parsed, serialized

#: One call's service → the method of it that answers the rpc.
Method = Callable[[Calls], Callable[[Any], Any]]


class UnaryRpc(grpc.UnaryUnaryMultiCallable):
    """One request, one response."""

    def __init__(self, channel: UsersChannel, notice_id: str, rpc: Rpc, method: Method) -> None:
        self._notice_id = notice_id
        self._channel = channel
        self._request_class = rpc.request
        self._method = method

    def __call__(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> Any:
        """The response; RpcError when the server did not give one."""
        notice.used(self._notice_id)
        arguments = Arguments(timeout, metadata, credentials, wait_for_ready, compression)
        return self._answer(request, self._channel.calls(arguments))

    def with_call(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> tuple[Any, FinishedCall]:
        """The response, and gRPC's view of the call."""
        notice.used(self._notice_id)
        arguments = Arguments(timeout, metadata, credentials, wait_for_ready, compression)
        calls = self._channel.calls(arguments)
        return self._answer(request, calls), FinishedCall(calls)

    def future(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> CallFuture:
        """Start the call; the request has been read when this returns.

        RpcError at once for what is no request, as gRPC does.
        """
        notice.used(self._notice_id)
        arguments = Arguments(timeout, metadata, credentials, wait_for_ready, compression)
        content = serialized(self._request_class, request)
        calls = self._channel.calls(arguments)
        future = CallFuture(calls)
        try:
            message = parsed(self._request_class, content)
        except grpc.RpcError as error:  # a server's answer to such bytes
            future.fail(error)
        else:
            self._start(message, calls, future)
        return future

    def _answer(self, request: Any, calls: Calls) -> Any:
        message = own(self._request_class, request)
        return answered(lambda: self._method(calls)(message))

    def _start(self, message: Any, calls: Calls, future: CallFuture) -> None:
        future.run_in_thread(lambda: self._method(calls)(message))


class InferRpc(UnaryRpc):
    """Infer; its futures are gRPC's own, chained: no thread waits for them."""

    def __init__(self, channel: UsersChannel) -> None:
        rpc = Rpc(pb.InferRequest, pb.InferResponse)
        super().__init__(channel, "TS073", rpc, lambda calls: calls.infer.infer)

    def _start(self, message: Any, calls: Calls, future: CallFuture) -> None:
        _Inference(message, calls, future).start()


class _Inference:
    """One asynchronous inference: the model's configuration if need be, then the request."""

    def __init__(self, request: Any, calls: Calls, future: CallFuture) -> None:
        self._service = calls.infer
        self._backend = calls.backend
        self._inference = calls.infer.inference(request)
        self._future = future

    def start(self) -> None:
        """Send the first message; returns at once."""
        model = self._inference.identity.model
        if model.profile is not None:
            self._send()
            return
        try:
            self._backend.model_config_async(model.name, self._configured)
        except Fault as fault:
            self._refused(fault)

    def _configured(self, outcome: ModelConfigDocument | Fault) -> None:
        if isinstance(outcome, Fault):
            if (
                outcome.no_such_call
            ):  # metadata take more than one call, which have to be waited for
                infer = self._backend.infer
                self._future.run_in_thread(
                    lambda: self._service.response(self._inference.run(infer))
                )
            else:
                self._refused(outcome)
        else:
            self._future.attempt(lambda: self._send(outcome))

    def _send(self, told: ModelConfigDocument | None = None) -> None:
        """Send the request; ``told`` is the model's configuration if it had to be asked for."""
        try:
            if told is not None:
                self._inference.identity.model.learn(told)
            if not self._future.cancelled():
                sendable = self._inference.prepare()
                self._backend.infer_async(
                    sendable.call, lambda outcome: self._finish(sendable.answered(outcome))
                )
        except Fault as fault:
            self._refused(fault)

    def _refused(self, fault: Fault) -> None:
        self._finish(Refused(self._inference.identity, fault))

    def _finish(self, answer: Answer) -> None:
        self._future.run(lambda: self._service.response(answer))


class StreamInferRpc(grpc.StreamStreamMultiCallable):
    """StreamInfer: requests are read as their iterator gives them, and may change afterwards."""

    def __init__(self, channel: UsersChannel) -> None:
        self._channel = channel

    def __call__(
        self,
        request_iterator: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> StreamCall:
        """Start the stream; iterate over the result for the responses."""
        notice.used("TS074")
        arguments = Arguments(timeout, metadata, credentials, wait_for_ready, compression)
        calls = self._channel.calls(arguments)
        requests = copies(pb.InferRequest, request_iterator)
        return StreamCall(calls, OrderedStream(calls.infer, requests))
