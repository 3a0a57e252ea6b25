"""The asynchronous calls of ``InferContext``, of every era of v1
(docs/v1-behaviour.md §2.2, §5).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, overload

from tensorrtserver.api._lazy_imports import arguments
from tritonclient_shim import notice

if TYPE_CHECKING:
    from typing import Literal

    from tritonclient_shim.session.inference import InferSession
    from tritonclient_shim.session.requests import CompletedRequest

_UNSET: Any = object()


class AsyncCalls:
    """What ``InferContext`` does asynchronously; mixed into it."""

    _last_request_id: int | None

    def _session(self) -> InferSession:
        """The open session; InferenceServerException when the context is closed."""
        raise NotImplementedError

    def _read(self, answer: CompletedRequest) -> dict[Any, list[Any]]:
        """The results of an answer, and the last request's particulars kept."""
        raise NotImplementedError

    def async_run(self, *args: Any, **kwargs: Any) -> int | None:
        """Send one inference without waiting for it.

        Deprecated [TS052], see migration_guide.md#asynchronous-requests-with-a-callback. Instead:
        client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what it
        returns over HTTP.

        Deprecated [TS053], see migration_guide.md#asynchronous-requests-with-ids. Instead:
        client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs): what it returns is the id's
        successor over HTTP.

        ``async_run(callback, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0,
        timeout_us=0)`` (1.8 and later) returns None and calls ``callback(context,
        request_id)`` on the context's callback thread when the request has completed or
        failed. ``async_run(inputs, outputs, batch_size=1, flags=0, …)`` (up to 1.7) returns
        the request id. Arguments are those of :meth:`InferContext.run`.

        Returns
        -------
        int or None
            The request id in the style up to 1.7, None in the style of 1.8.

        Raises
        ------
        InferenceServerException
            The request is invalid; the callback is then never called (docs/v1-behaviour.md §5).
        """
        if "callback" in kwargs or (args and (callable(args[0]) or args[0] is None)):
            notice.used("TS052")
            self._async_with_callback(*args, **kwargs)
            return None
        notice.used("TS053")
        return self._async_with_id(*args, **kwargs)

    def async_run_with_cb(self, *args: Any, **kwargs: Any) -> None:
        """Send one inference and call back: the name that 1.4–1.7 had for it
        (docs/v1-behaviour.md §2.1).

        Deprecated [TS054], see migration_guide.md#asynchronous-requests-with-a-callback. Instead:
        client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what it
        returns over HTTP.
        """
        notice.used("TS054")
        self._async_with_callback(*args, **kwargs)

    def _async_with_callback(
        self,
        callback: Callable[[Any, int], Any],
        inputs: Any,
        outputs: Any,
        batch_size: Any = 1,
        flags: Any = 0,
        corr_id: Any = 0,
        priority: Any = 0,
        timeout_us: Any = 0,
    ) -> None:
        scalars = (batch_size, flags, corr_id, priority, timeout_us)
        self._session().start(lambda id: callback(self, id), inputs, outputs, scalars)

    def _async_with_id(
        self,
        inputs: Any,
        outputs: Any,
        batch_size: Any = 1,
        flags: Any = 0,
        corr_id: Any = 0,
        priority: Any = 0,
        timeout_us: Any = 0,
    ) -> int:
        scalars = (batch_size, flags, corr_id, priority, timeout_us)
        return self._session().start(None, inputs, outputs, scalars)

    @overload
    def get_async_run_results(
        self, request_id: Any, wait: Literal[True] = ...
    ) -> dict[Any, list[Any]]: ...

    @overload
    def get_async_run_results(self, request_id: Any, wait: Any) -> dict[Any, list[Any]] | None: ...

    def get_async_run_results(
        self, request_id: Any, wait: Any = _UNSET
    ) -> dict[Any, list[Any]] | None:
        """Fetch the results of an asynchronous request; they can be fetched once.

        Deprecated [TS055], see migration_guide.md#asynchronous-requests-with-a-callback. Instead:
        the callback's arguments result and error on gRPC, get_result() of what async_infer
        returned over HTTP.

        Parameters
        ----------
        request_id : int
            The id that :meth:`async_run` returned, or that the callback was given.
        wait : bool, optional
            Up to 1.7: wait for the request (True), or return None when it is not ready
            (False). Left out, as from 1.8 on, a request with a callback is known from the
            moment its callback runs, and one without is waited for (docs/v1-behaviour.md §2.3).

        Returns
        -------
        dict or None
            What :meth:`InferContext.run` returns.

        Raises
        ------
        InferenceServerException
            The id is unknown, or the request failed (docs/v1-behaviour.md §5).
        """
        notice.used("TS055")
        number = arguments.unsigned(request_id, arguments.UINT64, 2)
        answer = self._session().fetch(number, None if wait is _UNSET else bool(wait))
        if answer is None:
            self._last_request_id = 0
            return None
        return self._read(answer)

    def get_ready_async_request(self, wait: Any) -> int | None:
        """Id of a finished request without callback whose results nobody has fetched (≤1.7).

        Deprecated [TS056], see migration_guide.md#asynchronous-requests-with-ids. Instead: a
        queue.Queue that the callback fills on gRPC, get_result(block=False) of what
        async_infer returned over HTTP.

        Parameters
        ----------
        wait : bool
            Wait until there is one; otherwise None is returned when there is none.

        Returns
        -------
        int or None
            The lowest such id. The request stays ready until it is fetched
            (docs/v1-behaviour.md §2.2).

        Raises
        ------
        InferenceServerException
            No such request is outstanding.
        """
        notice.used("TS056")
        return self._session().ready(bool(wait))


# What tools show is the call of 1.8 and later, as v1 itself would.
AsyncCalls.async_run.__signature__ = inspect.signature(  # type: ignore[attr-defined]
    AsyncCalls._async_with_callback
)
