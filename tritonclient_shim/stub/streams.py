"""``StreamInfer``: responses in the order of the requests, over one stream to the v2 server.

It is a stream of gRPC's on the user's channel. gRPC takes the requests from their iterator on a
thread of its own, and the consumer reads the replies, as with a generated stub.
"""

from __future__ import annotations

import itertools
import sys
from queue import SimpleQueue
from typing import Any, Iterable, Iterator, NamedTuple

from tritonclient_shim.backends.grpc.framing import (
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
from tritonclient_shim.service import V1Service, stream_refusal
from tritonclient_shim.session.inference import Answer, Answered, Refused, Sendable
from tritonclient_shim.session.streams import NOT_OURS
from tritonclient_shim.stub.calls import Calls, LocalRpcError, parsed, rpc_error, serialized


class _Sent(NamedTuple):
    """A request on the stream, without its inputs; ``id`` is its id there."""

    id: str
    sendable: Sendable
    use: ShmUse


class _Requests(Iterator[bytes]):
    """The v2 messages of a stream's requests, which gRPC takes on its thread.

    Each request is copied when its iterator yields it; users may change it then.
    """

    def __init__(self, service: V1Service, requests: Iterable[Any]) -> None:
        self._service = service
        self._requests = itertools.chain.from_iterable([requests])  # iterated on gRPC's thread
        self._next_id = itertools.count(1).__next__
        #: What each request has come to, in their order; None at the end.
        self.pending: SimpleQueue[Refused | _Sent | None] = SimpleQueue()
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
        inference = self._service.inference(copy)
        try:
            sendable = inference.prepare(streaming=True).with_id(str(self._next_id()))
        except ServerError as error:
            self.pending.put(Refused(inference, error))
            return None
        call = sendable.call
        message = encode_request(call)
        self.pending.put(_Sent(call.request_id, sendable.without_inputs(), shm_use(call)))
        return message

    def end(self, failure: BaseException | None = None) -> None:
        """Let the consumer see the end of the stream."""
        self.failure = self.failure or failure
        self.pending.put(None)


class StreamCall(Iterator[Any]):
    """An iterator over the responses of a stream, with the attributes of gRPC's own object.

    The stream is cancelled when nobody refers to this object any more.
    """

    def __init__(self, calls: Calls, requests: Iterable[Any]) -> None:
        self._service = calls.service
        self._requests = _Requests(calls.service, requests)
        self._due: Refused | _Sent | None = None  # the request whose response is next
        self._call = calls.backend.bound.stream(self._requests, ())
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
        answer = due if isinstance(due, Refused) else self._read(next(self._call), due)
        self._due = None
        try:
            return self._service.response(answer)
        except InferenceServerException as error:
            failure = rpc_error(error)
        raise failure

    next = __next__  # gRPC's own object has this method

    def _read(self, message: bytes, due: _Sent) -> Answer:
        """Return the answer in a message. It ends the stream if it is not the one that is due."""
        try:
            wire_id, outcome = read(decode_stream_reply, message, lambda _: due.use)
            if wire_id not in ("", due.id):
                raise TransportError(NOT_OURS.format(wire_id), "StatusCode.INTERNAL")
        except BackendError as error:
            self._requests.end(rpc_error(error))
            self._raise_failure()
        if isinstance(outcome, ServerError):
            outcome = stream_refusal(outcome)
        return Answered(due.sendable, outcome)

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
