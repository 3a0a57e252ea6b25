"""The objects by which gRPC tells of a call: those of ``rpc.future``, ``rpc.with_call`` and
``StreamInfer``.
"""

from __future__ import annotations

import time
from concurrent import futures
from functools import partial
from threading import Thread
from typing import Any, Callable, Iterator

import grpc

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.service.streams import OrderedStream
from tritonclient_shim.stub.channel import Calls
from tritonclient_shim.stub.errors import answered, fault_error, rpc_error

_CANCELLED = "Locally cancelled by application!"


class _UsersCall(grpc.Call):
    """gRPC's view of a call of v1's. Such a call ends with status OK even if it was refused."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def initial_metadata(self) -> Any:
        """The metadata of the latest call to the v2 server."""
        return self._metadata("initial_metadata")

    def trailing_metadata(self) -> Any:
        """The metadata of the latest call to the v2 server."""
        return self._metadata("trailing_metadata")

    def _metadata(self, kind: str) -> Any:
        last = self._calls.last()
        return getattr(last, kind)() if hasattr(last, kind) else ()

    def time_remaining(self) -> float | None:
        """Seconds until the call's time limit; None if it has none."""
        deadline = self._calls.options.deadline
        return None if deadline is None else max(0.0, deadline - time.monotonic())


class FinishedCall(_UsersCall):
    """The call behind a response that has been received."""

    def code(self) -> Any:
        return grpc.StatusCode.OK

    def details(self) -> str:
        return ""

    def is_active(self) -> bool:
        return False

    def cancel(self) -> bool:
        return False

    def add_callback(self, callback: Any) -> bool:
        return False


class CallFuture(_UsersCall, grpc.Future):
    """A call in progress: a ``grpc.Future`` and a ``grpc.Call``, as generated stubs return."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self._outcome: futures.Future[Any] = futures.Future()

    # ---------------------------------------------------------- for those who end the call

    def run(self, produce: Callable[[], Any]) -> None:
        """End the call with what ``produce`` returns or raises, unless it has been cancelled."""
        if not self._outcome.set_running_or_notify_cancel():
            return
        try:
            response = produce()
        except BaseException as error:  # whatever it is, somebody may wait for the outcome
            self._outcome.set_exception(_shown(error))
        else:
            self._outcome.set_result(response)

    def attempt(self, step: Callable[[], None]) -> None:
        """Take one step of the call; if it raises, the call ends with that error."""
        try:
            step()
        except BaseException as error:  # for the same reason
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """End the call with an error."""
        self.run(partial(_raise, error))

    def run_in_thread(self, produce: Callable[[], Any]) -> None:
        """Do the same as :meth:`run`, on a thread of its own."""
        Thread(target=self.run, args=(produce,), name="v1-stub-call", daemon=True).start()

    # --------------------------------------------------------------------------- grpc.Future

    def cancel(self) -> bool:
        """Cancel the call; False if it has ended."""
        if self._outcome.done() or not self._outcome.cancel():
            return False
        getattr(self._calls.last(), "cancel", bool)()
        return True

    def cancelled(self) -> bool:
        return self._outcome.cancelled()

    def running(self) -> bool:
        return not self._outcome.done()

    def done(self) -> bool:
        return self._outcome.done()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the response. Raises RpcError, or grpc.FutureTimeoutError after ``timeout``
        seconds.
        """
        return self._wait(self._outcome.result, timeout)

    def exception(self, timeout: float | None = None) -> Any:
        return self._wait(self._outcome.exception, timeout)

    def traceback(self, timeout: float | None = None) -> Any:
        return getattr(self.exception(timeout), "__traceback__", None)

    def _wait(self, ask: Callable[[float | None], Any], timeout: float | None) -> Any:
        try:
            return ask(timeout)
        except futures.TimeoutError:
            if self._outcome.done():
                raise
            raise grpc.FutureTimeoutError() from None
        except futures.CancelledError:
            raise grpc.FutureCancelledError() from None

    def add_done_callback(self, fn: Callable[[Any], None]) -> None:
        """Call ``fn(self)`` when the call ends, or at once if it has ended."""
        self._outcome.add_done_callback(lambda _outcome: _logged(partial(fn, self)))

    # ----------------------------------------------------------------------------- grpc.Call

    def code(self) -> Any:
        """Wait for the end of the call → its status code."""
        return self._status()[0]

    def details(self) -> str:
        """Wait for the end of the call → the text of its status."""
        return self._status()[1]

    def _status(self) -> tuple[Any, str]:
        try:
            error = self.exception()
        except grpc.FutureCancelledError:
            return grpc.StatusCode.CANCELLED, _CANCELLED
        return _status_of(error)

    def is_active(self) -> bool:
        return not self._outcome.done()

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """Call ``callback()`` when the call ends. Returns False, and does nothing, if it has."""
        if self._outcome.done():
            return False
        self._outcome.add_done_callback(lambda _outcome: _logged(callback))
        return True


class StreamCall(_UsersCall, Iterator[Any]):
    """An iterator over the responses of a stream, and gRPC's view of the stream.

    The stream is cancelled when nobody refers to this object any more.
    """

    def __init__(self, calls: Calls, responses: OrderedStream) -> None:
        super().__init__(calls)
        self._responses = responses

    def __iter__(self) -> StreamCall:
        return self

    def __next__(self) -> Any:
        """The next response; RpcError if the stream broke."""
        return answered(lambda: next(self._responses))

    def next(self) -> Any:
        """The same as ``next(self)``; gRPC's own object has this method."""
        return next(self)

    def cancel(self) -> bool:
        """Cancel the stream at once; False if it has ended."""
        active = self.is_active()
        self._responses.cancel()
        return active

    def code(self) -> Any:
        """Wait for the end of the stream → its status code."""
        return _status_of(fault_error(self._responses.wait()))[0]

    def details(self) -> str:
        """Wait for the end of the stream → the text of its status."""
        return _status_of(fault_error(self._responses.wait()))[1]

    def is_active(self) -> bool:
        return not self._responses.ended()

    def done(self) -> bool:
        return self._responses.ended()

    def running(self) -> bool:
        return self.is_active()

    def cancelled(self) -> bool:
        return self.done() and self.code() is grpc.StatusCode.CANCELLED

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """Call ``callback()`` when the stream ends. Returns False, and does nothing, if it has."""
        return self.is_active() and bool(self._calls.last().add_callback(callback))


def _logged(callback: Callable[[], None]) -> None:
    """Call a user's callback so that concurrent.futures logs all that it raises.

    SystemExit and its like would end the thread, which may be gRPC's, before other callbacks.
    """
    try:
        callback()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"a callback raised {type(error).__name__}") from error


def _status_of(error: Any) -> tuple[Any, str]:
    if error is None:
        return grpc.StatusCode.OK, ""
    if hasattr(error, "code"):
        return error.code(), error.details()
    return grpc.StatusCode.UNKNOWN, str(error)


def _shown(error: BaseException) -> BaseException:
    return rpc_error(error) if isinstance(error, InferenceServerException) else error


def _raise(error: BaseException) -> None:
    raise error
