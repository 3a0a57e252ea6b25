"""The asynchronous calls of ``InferContext``, in the styles of all releases of v1
(docs/v1-behaviour.md §2.2, §2.3, §5).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, overload

from tensorrtserver.api._lazy_imports import arguments, request
from tritonclient_shim import notice

if TYPE_CHECKING:
    from typing import Literal

    from tensorrtserver.api import _types as types
    from tritonclient_shim.session.infer_session import InferSession
    from tritonclient_shim.session.requests import CompletedRequest

_UNSET: Any = object()


class AsyncCalls:
    """The asynchronous methods of ``InferContext``, which inherits them."""

    _last_request_id: int | None

    def _session(self) -> InferSession:
        """The open session; InferenceServerException when the context is closed."""
        raise NotImplementedError

    def _read(self, answer: CompletedRequest) -> dict[Any, list[Any]]:
        """Answer → its results; keeps the last request's id, model name and version."""
        raise NotImplementedError

    @overload
    def async_run(
        self,
        callback: types.RequestCallback,
        inputs: types.Inputs,
        outputs: types.Outputs[Any],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> None: ...

    @overload
    def async_run(
        self,
        inputs: types.Inputs,
        outputs: types.Outputs[Any],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> int: ...

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

        There are two styles; the first argument decides (docs/v1-behaviour.md §2.3):
        ``async_run(callback, inputs, outputs, …)`` of 1.8 and later, and
        ``async_run(inputs, outputs, …)`` of 1.7 and earlier. All other arguments are those of
        :meth:`InferContext.run`. Input arrays may be changed as soon as this method returns.

        Parameters
        ----------
        callback : callable
            Called as ``callback(context, request_id)`` when the request has been answered or has
            failed. All callbacks of a context run in one thread, one after another
            (docs/v1-behaviour.md §5).

        Returns
        -------
        int or None
            The request id where no callback is given, otherwise None.

        Raises
        ------
        InferenceServerException, ctypes.ArgumentError, and others
            As :meth:`InferContext.run`, when the request cannot be sent; the callback is then never
            called. :meth:`get_async_run_results` raises the errors that occur later.
        """
        if "callback" in kwargs or (args and (callable(args[0]) or args[0] is None)):
            notice.used("TS052")
            self._async_with_callback(*args, **kwargs)
            return None
        notice.used("TS053")
        return self._async_with_id(*args, **kwargs)

    def async_run_with_cb(self, *args: Any, **kwargs: Any) -> None:
        """Send one inference without waiting for it: the name of :meth:`async_run` with a callback
        in releases 1.4 to 1.7 (docs/v1-behaviour.md §2.1).

        Deprecated [TS054], see migration_guide.md#asynchronous-requests-with-a-callback. Instead:
        client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what it
        returns over HTTP.

        Parameters, callback and errors are those of ``async_run(callback, inputs, outputs, …)``.
        """
        notice.used("TS054")
        self._async_with_callback(*args, **kwargs)

    def _async_with_callback(
        self,
        callback: types.RequestCallback,
        inputs: types.Inputs,
        outputs: types.Outputs[Any],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> None:
        given = request.RunArguments(
            inputs, outputs, batch_size, flags, corr_id, priority, timeout_us
        )
        self._session().start(lambda id: callback(self, id), given)

    def _async_with_id(
        self,
        inputs: types.Inputs,
        outputs: types.Outputs[Any],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> int:
        given = request.RunArguments(
            inputs, outputs, batch_size, flags, corr_id, priority, timeout_us
        )
        return self._session().start(None, given)

    @overload
    def get_async_run_results(
        self, request_id: types.Integer, wait: Literal[True] = ...
    ) -> types.Results[Any]: ...

    @overload
    def get_async_run_results(
        self, request_id: types.Integer, wait: object
    ) -> types.Results[Any] | None: ...

    def get_async_run_results(
        self, request_id: types.Integer, wait: object = _UNSET
    ) -> types.Results[Any] | None:
        """Return the results of an asynchronous request; this can be done once per request.

        Deprecated [TS055], see migration_guide.md#asynchronous-requests-with-a-callback. Instead:
        the callback's arguments result and error on gRPC, get_result() of what async_infer
        returned over HTTP.

        Parameters
        ----------
        request_id : int
            The id that :meth:`async_run` returned, or that the callback was given.
        wait : bool, optional
            As in 1.7 and earlier: True waits for the request, False returns None if it is not
            ready. Without this argument, as in 1.8 and later, nothing is waited for: the id of a
            request with a callback is unknown until its callback is called. A request without a
            callback is waited for (docs/v1-behaviour.md §2.3).

        Returns
        -------
        dict or None
            What :meth:`InferContext.run` returns; None as described for `wait`.

        Raises
        ------
        InferenceServerException
            The id is unknown, its results were fetched before, the request failed, or the
            context is closed (docs/v1-behaviour.md §5).
        ctypes.ArgumentError
            `request_id` is no integer.
        """
        notice.used("TS055")
        number = arguments.unsigned(request_id, arguments.UINT64, 2)
        answer = self._session().fetch(number, None if wait is _UNSET else bool(wait))
        if answer is None:
            self._last_request_id = 0
            return None
        return self._read(answer)

    def get_ready_async_request(self, wait: object) -> int | None:
        """The id of a request without a callback whose results can be fetched
        (docs/v1-behaviour.md §2.2, releases 1.0 to 1.7).

        Deprecated [TS056], see migration_guide.md#asynchronous-requests-with-ids. Instead: a
        queue.Queue that the callback fills on gRPC, get_result(block=False) of what
        async_infer returned over HTTP.

        Parameters
        ----------
        wait : bool
            True waits until there is one, False returns None if there is none.

        Returns
        -------
        int or None
            The lowest such id. It is returned again until :meth:`get_async_run_results` has
            fetched its results.

        Raises
        ------
        InferenceServerException
            No request without a callback is outstanding, or the context is closed.
        """
        notice.used("TS056")
        return self._session().ready(bool(wait))


# help() and other tools show the signature of 1.8 and later.
AsyncCalls.async_run.__signature__ = inspect.signature(  # type: ignore[attr-defined]
    AsyncCalls._async_with_callback
)
