"""v1's ``GRPCServiceStub`` on a channel to a v2 server (docs/v1-behaviour.md §9.2).

A server's refusal is in ``response.request_status``, with v1's code, and raises nothing. An error
that gRPC itself reports is raised as the ``grpc.RpcError`` that it is.

A generated stub serialises any message, and the server reads the bytes as the request of the rpc.
Therefore programs may use messages of their own generated code, in descriptor
pools of their own, and even messages of another type, such as ``Profile(ModelConfig())``.
"""

from __future__ import annotations

import itertools
import queue
import sys
from functools import partial
from typing import Any, Iterable, Iterator, NamedTuple

import grpc

from tritonclient_shim import notice
from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.backends.grpc.framing import (
    NO_SHM,
    ShmUse,
    decode_stream_reply,
    encode_request,
    shm_use,
)
from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    ServerError,
    TransportError,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.service import ALL_RPCS, V1Service, stream_refusal
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.streams import NOT_OURS
from tritonclient_shim.stub.calls import (
    CallFuture,
    Calls,
    LocalRpcError,
    UsersChannel,
    parsed,
    rpc_error,
    serialized,
)


class GRPCServiceStub:
    """Client of v1's GRPCService, answered by KServe v2 on the same channel.

    Deprecated [TS072], see ``tritonclient-shim guide raw-grpc-stub``. Instead:
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
        return self.with_call(request, *options, **named_options)[0]

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
        answer = partial(calls.service.answer, self._rpc, message)
        self._channel.executor.execute(partial(future.run, answer))


class InferRpc(UnaryRpc):
    """Infer. Its futures end with gRPC's own futures, so that no thread waits for a reply.

    Only the configuration of an unknown model needs a thread, which waits for it.
    """

    def _start(self, message: Any, calls: Calls, future: CallFuture) -> None:
        exchange = calls.service.exchange(message)
        if exchange.model.profile is None:
            return super()._start(message, calls, future)

        def finish(outcome: Outcome) -> None:
            exchange.outcome = outcome
            future.run(lambda: calls.service.response(exchange))

        try:
            calls.backend.infer_async(exchange.prepare(), finish)
        except BackendError as error:
            exchange.refuse(error)
            future.run(lambda: calls.service.response(exchange))


class StreamInferRpc(grpc.StreamStreamMultiCallable):
    """StreamInfer. It copies each request that the iterator yields; users may change it then."""

    def __init__(self, channel: UsersChannel) -> None:
        self._channel = channel

    def __call__(self, request_iterator: Any, *options: Any, **named_options: Any) -> StreamCall:
        """Start the stream; iterate over the result for the responses. See :class:`UnaryRpc`."""
        notice.used("TS074")
        return StreamCall(Calls(self._channel, *options, **named_options), request_iterator)


class _Sent(NamedTuple):
    """A request on the stream, without its inputs.

    ``id`` is its id there, '' if it was refused before it was sent.
    """

    exchange: Exchange
    id: str = ""
    use: ShmUse = NO_SHM


class _Requests(Iterator[bytes]):
    """The v2 messages of a stream's requests, which gRPC takes on its thread.

    Each request is copied when its iterator yields it; users may change it then.
    """

    def __init__(self, service: V1Service, requests: Iterable[Any]) -> None:
        self._service = service
        self._requests = itertools.chain.from_iterable([requests])  # iterated on gRPC's thread
        self._next_id = itertools.count(1).__next__
        #: The requests in their order; None at the end.
        self.pending: queue.SimpleQueue[_Sent | None] = queue.SimpleQueue()
        #: What ended the stream, if gRPC does not know it.
        self.failure: BaseException | None = None

    def __next__(self) -> bytes:
        try:
            while True:
                message = self._message(next(self._requests))
                if message is not None:
                    return message
        except (BackendError, LocalRpcError) as error:
            self.end(rpc_error(error))
            raise StopIteration from error
        except Exception:  # gRPC ends the call, also after the last request
            self.end()
            raise
        except BaseException as error:  # gRPC's thread would end, and the call would not
            self.end()
            raise RuntimeError(f"an iterator raised {type(error).__name__}") from error

    def _message(self, request: Any) -> bytes | None:
        """Return the message of a request; None if the request is refused."""
        copy = parsed(pb.InferRequest, serialized(pb.InferRequest, request))
        exchange = self._service.exchange(copy)
        try:
            exchange.prepare(streaming=True)
        except ServerError as error:
            exchange.refuse(error)
            self.pending.put(_Sent(exchange))
            return None
        call = exchange.number_call(str(self._next_id()))
        message = encode_request(call)
        exchange.drop_inputs()
        self.pending.put(_Sent(exchange, id=call.request_id, use=shm_use(call)))
        return message

    def end(self, failure: BaseException | None = None) -> None:
        """Let the consumer see the end of the stream."""
        self.failure = self.failure or failure
        self.pending.put(None)


class StreamCall(Iterator[Any]):
    """An iterator over the responses of a stream, with the attributes of gRPC's own object.

    It is a stream of gRPC's on the user's channel. gRPC takes the requests from their iterator on a
    thread of its own, and the consumer reads the replies, as with a generated stub.
    The stream is cancelled when nobody refers to this object any more.
    """

    def __init__(self, calls: Calls, requests: Iterable[Any]) -> None:
        self._service = calls.service
        self._requests = _Requests(calls.service, requests)
        self._due: _Sent | None = None  # the request whose response is next
        try:
            self._call = calls.backend.bound.stream(self._requests, ())
        except BackendError as error:
            raise rpc_error(error) from error
        # An interceptor's own iterator has no such method.
        if not getattr(self._call, "add_callback", bool)(self._requests.end):
            self._requests.end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __next__(self) -> Any:
        """Return the next response; raise RpcError if the stream broke."""
        due = self._due = self._due or self._requests.pending.get()
        if due is None:
            self._requests.pending.put(None)  # it stays the end
            self._raise_failure()
            for _ in self._call:  # raises what ended the stream
                pass
            raise StopIteration
        if due.id:
            due.exchange.outcome = self._outcome(next(self._call), due)
        self._due = None
        try:
            return self._service.response(due.exchange)
        except InferenceServerException as error:
            failure = rpc_error(error)
        raise failure

    next = __next__  # gRPC's own object has this method

    def _outcome(self, message: bytes, due: _Sent) -> Outcome:
        """Return the outcome in a message. It ends the stream if it is not the one that is due."""
        try:
            wire_id, outcome = read(decode_stream_reply, message, lambda _: due.use)
            if wire_id not in ("", due.id):
                raise TransportError(NOT_OURS.format(wire_id), "StatusCode.INTERNAL")
        except BackendError as error:
            self._requests.end(rpc_error(error))
            self._raise_failure()
        if isinstance(outcome, ServerError):
            return stream_refusal(outcome)
        return outcome

    def _raise_failure(self) -> None:
        failure = self._requests.failure
        if failure is not None:
            self.cancel()
            raise failure

    def code(self) -> Any:
        """Wait for the end of the stream, and return its status code."""
        return self._ended("code")

    def details(self) -> str:
        """Wait for the end of the stream, and return the text of its status."""
        return str(self._ended("details"))

    def _ended(self, name: str) -> Any:
        outcome = getattr(self._call, name)()
        failure = self._requests.failure
        return outcome if failure is None else getattr(failure, name)()

    def cancel(self) -> bool:
        """Cancel the stream at once. Return False if it has ended."""
        active = getattr(self._call, "is_active", bool)()
        getattr(self._call, "cancel", bool)()
        return bool(active)

    def __del__(self) -> None:
        # gRPC's thread refers to gRPC's object.
        if "_call" in vars(self) and not sys.is_finalizing():
            self.cancel()
