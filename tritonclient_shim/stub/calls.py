"""A user's channel with v1's service on it; the errors and results of its calls."""

from __future__ import annotations

import sys
import time
from concurrent import futures
from typing import Any, Callable, MutableMapping
from weakref import WeakKeyDictionary

import grpc
from google.protobuf.message import DecodeError, EncodeError

from tritonclient_shim import settings
from tritonclient_shim.backends.grpc.users_channel import (
    CHANNEL,
    CallOptions,
    ChannelBackend,
    ChannelConnection,
)
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    TransportError,
    cause_of,
)
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.service import V1Service
from tritonclient_shim.session.models import KnownModels
from tritonclient_shim.session.server import ServerSession

_NOT_SENT = "Exception serializing request!"  # gRPC's own text
_NOT_READ = "Unable to parse request"  # the text of a server in C++, as v1's was
_CANCELLED = "Locally cancelled by application!"


#: Channel → models and known facts of its server. Stubs on one channel share them; they end with
#: the channel.
_known: MutableMapping[Any, tuple[KnownModels, KnownServer]] = WeakKeyDictionary()


class UsersChannel:
    """A user's channel, shared by all calls of one stub."""

    def __init__(self, channel: Any) -> None:
        self.connection = ChannelConnection(channel)
        self.models, self.connection.server = _known.setdefault(channel, ({}, KnownServer()))
        #: Has a thread for each call in progress that waits for the server. A call that waited for
        #: a free thread could not end at its time limit.
        self.executor = DaemonExecutor(sys.maxsize, "v1-stub-call")
        #: Only ``models`` counts here: the connection is the user's.
        self.settings = settings.current()


class Calls:
    """v1's service with the arguments of one user's call; ``timeout`` is in seconds from now."""

    def __init__(
        self,
        channel: UsersChannel,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> None:
        self.deadline = None if timeout is None else time.monotonic() + timeout
        options = CallOptions(self.deadline, metadata, credentials, wait_for_ready, compression)
        self.backend = ChannelBackend(channel.connection, options)
        session = ServerSession(CHANNEL, backend=self.backend)
        session.settings = channel.settings
        self.service = V1Service(session, channel.models, batch_in_dims=True)


# ------------------------------------------------------------------------- errors and results


class LocalRpcError(grpc.RpcError):
    """An RpcError for an error in this process, outside gRPC."""

    def __init__(self, code: Any, details: str) -> None:
        super().__init__(f"{code}: {details}")
        self._code = code
        self._details = details

    def code(self) -> Any:
        return self._code

    def details(self) -> str:
        return self._details


def serialized(message_class: Any, request: Any) -> bytes:
    """Return the bytes of a message of any type.

    Raise RpcError for an object that is no message, or that lacks a required field.
    """
    try:
        return bytes(message_class.SerializeToString(request))
    except (AttributeError, TypeError, ValueError, EncodeError) as error:
        reason: Exception = error
        if not hasattr(request, "DESCRIPTOR"):
            expected = message_class.DESCRIPTOR.name
            kind = type(request).__name__
            reason = TypeError(
                f"expected {expected} or another protobuf message, got {kind}: {request!r:.200}"
            )
        raise LocalRpcError(grpc.StatusCode.INTERNAL, _NOT_SENT) from reason


def parsed(message_class: Any, content: bytes) -> Any:
    """Parse a request. Raise RpcError if the bytes are no message of the class."""
    try:
        return message_class.FromString(content)
    except (DecodeError, ValueError) as error:  # the latter by protobuf in pure Python
        raise LocalRpcError(grpc.StatusCode.INTERNAL, _NOT_READ) from error


def rpc_error(error: BaseException) -> BaseException:
    """Return the RpcError among the causes of an error, else an RpcError for the last cause."""
    chain = [error]
    while (cause := cause_of(chain[-1])) is not None:
        chain.append(cause)
    errors: list[BaseException] = [link for link in chain if isinstance(link, grpc.RpcError)]
    if errors:
        return errors[0]
    backend_error = [*chain[-1:], *(link for link in chain if isinstance(link, BackendError))][-1]
    if isinstance(backend_error, ForeignError):
        return LocalRpcError(
            grpc.StatusCode.INTERNAL, f"Exception deserializing response! {backend_error}"
        )
    if isinstance(backend_error, TransportError) and backend_error.status:
        name = backend_error.status.rpartition(".")[2]
        return LocalRpcError(grpc.StatusCode[name], backend_error.message.split(": ", 2)[-1])
    too_large = grpc.StatusCode.RESOURCE_EXHAUSTED  # a request too large
    return LocalRpcError(too_large, str(backend_error))


class CallFuture(futures.Future, grpc.Future, grpc.Call):  # type: ignore[type-arg]
    """A call of v1's, as generated stubs return it: in progress, or behind a response.

    A call that v1's server refused ends with status OK.
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._deadline = calls.deadline
        self._connection = calls.backend.bound  # it has gRPC's object for the latest call

    def run(self, produce: Callable[[], Any]) -> None:
        """End the call with what ``produce`` returns or raises, unless it has been cancelled."""
        response = None
        failure = None
        try:
            response = None if self.cancelled() else produce()
        except InferenceServerException as error:
            failure = rpc_error(error)
        except BaseException as error:  # whatever it is, somebody may wait for the outcome
            failure = error
        if self.set_running_or_notify_cancel():
            if failure is None:
                self.set_result(response)
            else:
                self.set_exception(failure)

    # --------------------------------------------------------------------------- grpc.Future

    def cancel(self) -> bool:
        """Cancel the call. Return False if it has ended."""
        if self.done() or not super().cancel():
            return False
        getattr(self._connection.last, "cancel", bool)()
        return True

    def running(self) -> bool:
        return not self.done()

    def result(self, timeout: float | None = None) -> Any:
        """Return the response when it has arrived.

        Raise RpcError, or grpc.FutureTimeoutError after ``timeout`` seconds.
        """
        return self._wait(super().result, timeout)

    def exception(self, timeout: float | None = None) -> Any:
        return self._wait(super().exception, timeout)

    def traceback(self, timeout: float | None = None) -> Any:
        return getattr(self.exception(timeout), "__traceback__", None)

    def _wait(self, ask: Callable[[float | None], Any], timeout: float | None) -> Any:
        try:
            return ask(timeout)
        except futures.TimeoutError:
            if self.done():
                raise
            raise grpc.FutureTimeoutError() from None
        except futures.CancelledError:
            raise grpc.FutureCancelledError() from None

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Call ``fn(self)`` when the call ends, or at once if it has ended. Errors are logged."""

        def call(_: object) -> None:
            try:
                fn(self)
            except Exception:
                raise
            except BaseException as error:  # else it ends the thread, which may be gRPC's
                raise RuntimeError(f"a callback raised {type(error).__name__}") from error

        super().add_done_callback(call)

    # ----------------------------------------------------------------------------- grpc.Call

    def initial_metadata(self) -> Any:
        """Return the metadata of the latest call to the v2 server."""
        return getattr(self._connection.last, "initial_metadata", tuple)()

    def trailing_metadata(self) -> Any:
        """Return the metadata of the latest call to the v2 server."""
        return getattr(self._connection.last, "trailing_metadata", tuple)()

    def code(self) -> Any:
        """Wait for the end of the call, and return its status code."""
        return self._status()[0]

    def details(self) -> str:
        """Wait for the end of the call, and return the text of its status."""
        return self._status()[1]

    def _status(self) -> tuple[Any, str]:
        try:
            error = self.exception()
        except grpc.FutureCancelledError:
            return grpc.StatusCode.CANCELLED, _CANCELLED
        if error is None:
            return grpc.StatusCode.OK, ""
        if hasattr(error, "code"):
            return error.code(), error.details()
        return grpc.StatusCode.UNKNOWN, str(error)

    def time_remaining(self) -> float | None:
        """Return the seconds until the call's time limit; None if it has none."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def is_active(self) -> bool:
        return not self.done()

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """Call ``callback()`` when the call ends. Return False at once if it has ended."""
        if self.done():
            return False
        self.add_done_callback(lambda _: callback())
        return True
