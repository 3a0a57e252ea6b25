"""``InferContext``: inference, in the calling styles of all releases of v1."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from tensorrtserver.api import _base as types
from tensorrtserver.api._base import Context, short_traceback
from tritonclient_shim import notice
from tritonclient_shim.core import arguments
from tritonclient_shim.core.arguments import UINT64, RunArguments

if TYPE_CHECKING:
    from tritonclient_shim.session.infer_session import ContextExchange, InferSession

_UNSET: Any = object()


class InferContext(Context):
    """Runs inference on one model of one server.

    Deprecated [TS050], see ``tritonclient-shim guide inference``. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        Address of the server, ``host:port``. A scheme is accepted (``https://`` and ``grpcs://``
        mean TLS), and for HTTP a path prefix as well.
    protocol : ProtocolType or int
        HTTP (0) or GRPC (1).
    model_name : str or bytes
        Name of the model. Its configuration is asked for once, now.
    model_version : int, optional
        Version of the model. None and -1 mean the latest, over HTTP any negative number does.
    verbose : bool, optional
        Print the server's status now.
    correlation_id : int, optional
        Correlation id of the requests' sequence, modulo 2**64; 0 means no sequence.
    streaming : bool, optional
        Send all requests over one gRPC stream, which keeps their order.
    http_headers : list of str or bytes, optional
        ``"Name:Value"`` entries, sent with every HTTP request and never over gRPC.

    Raises
    ------
    InferenceServerException
        No inference server answers, it does not know the model, or an argument has a value that
        cannot be used.
    ctypes.ArgumentError
        `url` or `model_name` is no text, or `model_version` or `correlation_id` is no integer.
    AttributeError
        An entry of `http_headers` is neither str nor bytes.
    OverflowError, TypeError, ValueError
        `protocol` is no finite number, or a setting cannot be used:
        ``tritonclient-shim guide settings`` describes them.
    """

    class ResultFormat:
        """The form of an output's result: ``RAW``, its array, or ``CLASS``, its best classes.

        As in v1, ``RAW`` is a tuple and ``CLASS`` an int.
        """

        RAW = (1,)
        CLASS = 2

    _name = "InferContext"
    _ctx: InferSession | None = None
    _may_wait = True  # close() may wait for answers
    _last_request_id: int | None = None
    _last_request_model_name: str | None = None
    _last_request_model_version: int | None = None
    _last_correlation_id = 0

    def __init__(
        self,
        url: types.Text,
        protocol: types.ProtocolLike,
        model_name: types.Text,
        model_version: types.Integer | None = None,
        verbose: object = False,
        correlation_id: types.Integer = 0,
        streaming: object = False,
        http_headers: types.HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._correlation_id = correlation_id
        notice.used("TS050")
        with short_traceback:
            from tritonclient_shim.core.errors import InferenceServerException
            from tritonclient_shim.core.model import PROTOCOLS, next_request_id
            from tritonclient_shim.session import control
            from tritonclient_shim.session.infer_session import InferSession
            from tritonclient_shim.translate import constructors

            # in v1's order (docs/v1-behaviour.md §3.1)
            constructors.check_headers(http_headers)
            number = int(protocol)
            address = arguments.text(url, "url", 2, "replace")
            name = arguments.text(model_name, "model_name", 6)
            version = -1 if model_version is None else arguments.signed(model_version, UINT64, 7)
            sequence = arguments.unsigned(correlation_id, UINT64, 8)
            kind = constructors.protocol_of(number)
            if streaming and not PROTOCOLS[kind].has_streams:
                raise InferenceServerException("Streaming is only allowed with gRPC protocol")
            headers = constructors.parse_headers(http_headers, kind)
            if dict(headers).get("NV-InferRequest"):
                raise InferenceServerException("HTTP header 'NV-InferRequest' cannot be set")
            endpoint = constructors.parse_url(address, kind)
            self._ctx = InferSession(
                endpoint, headers, name, version, sequence, bool(streaming), bool(verbose)
            )
            if verbose:
                control.server_status(self._session(), name, next_request_id())

    def __del__(self) -> None:
        # At the interpreter's end threads stop anywhere, and may hold locks: do nothing then.
        # Before that, the garbage collector calls this at any moment, also while its thread
        # holds a lock of gRPC's: to wait, as v1 did (docs/v1-behaviour.md §5), could mean to wait
        # for this thread itself.
        if not sys.is_finalizing():
            self._may_wait = False
            self.close()

    def close(self) -> None:
        """Close the context; a second call does nothing.

        Asynchronous requests that are not answered yet are dropped: over HTTP at once, over gRPC
        after the next answer and its callback, on a stream after all answers. Every later request
        raises InferenceServerException.
        """
        session = self._ctx
        if session is not None:
            self._last_correlation_id = session.correlation_id
            self._ctx = None
            session.close(self._may_wait)

    def _session(self) -> InferSession:
        session = self._ctx  # once: another thread or a signal's handler may close the context
        if session is None:
            # v1 ended the process here (docs/v1-behaviour.md §6); known difference
            # ``closed-infer-context``.
            raise self._closed()
        return session

    def run(
        self,
        inputs: types.Inputs,
        outputs: types.Outputs[types.Name],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> types.Results[types.Name]:
        """Run one inference and wait for its results.

        Deprecated [TS051], see ``tritonclient-shim guide inference``. Instead:
        client.infer(model_name, inputs, outputs=outputs).

        Parameters
        ----------
        inputs : dict
            Name of each input of the model (str or bytes) → a list of numpy arrays, one per batch
            entry, without the batch dimension. Their bytes are sent as they are, in C order,
            without conversion to the input's datatype; a string input takes dtype object, ``S`` or
            ``U``. Instead of the list: the handle of a shared-memory region with all entries, or
            ``(handle, shape)`` with the shape of one entry as a list.
        outputs : dict
            Name of each output wanted (str or bytes) → ``ResultFormat.RAW`` for an array,
            ``(ResultFormat.CLASS, k)`` for the k best classes, or ``(ResultFormat.RAW, handle)``
            for an array by way of a shared-memory region.
        batch_size : int, optional
            Number of batch entries. 0 runs one entry and returns empty lists.
        flags : int, optional
            ``InferRequestHeader.FLAG_SEQUENCE_START`` (1), ``FLAG_SEQUENCE_END`` (2) or both (3).
        corr_id : int, optional
            New correlation id, modulo 2**64, which the context keeps; 0 leaves the present one.
        priority : int, optional
            Priority level for the model's scheduler; 0 is the model's default.
        timeout_us : int, optional
            Time limit in the server's queue, in microseconds; 0 is none.

        Returns
        -------
        dict
            Name of each output, in the order of `outputs` → a list with one element per batch
            entry. For RAW it is a writable array of the caller's own, without the batch dimension
            and of the dtype of the model's configuration, object with bytes for strings; for CLASS
            a list of ``(index, value, label)``, the highest value first.

        Raises
        ------
        InferenceServerException
            An argument cannot be used, the server refused the request, no inference server
            answers, or the context is closed.
        ctypes.ArgumentError
            A number is no integer.
        AttributeError, IndexError, TypeError, ValueError
            `inputs` or `outputs` is no such dict.
        """
        notice.used("TS051")
        self._last_request_id = None
        self._last_request_model_name = self._last_request_model_version = None
        with short_traceback:
            session = self._session()
            arguments = RunArguments(
                inputs, outputs, batch_size, flags, corr_id, priority, timeout_us
            )
            return self._results(session.run(arguments))

    def async_run(self, *args: Any, **kwargs: Any) -> Any:
        """Send one inference without waiting for it.

        Deprecated [TS052], see ``tritonclient-shim guide asynchronous-requests-with-a-callback``.
        Instead: client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what it returns
        over HTTP.

        Deprecated [TS053], see ``tritonclient-shim guide asynchronous-requests-with-ids``. Instead:
        client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs): what it returns is the id's
        successor over HTTP.

        There are two styles; the first argument decides:
        ``async_run(callback, inputs, outputs, …)`` of 1.8 and later, and
        ``async_run(inputs, outputs, …)`` of 1.7 and earlier. All other arguments are those of
        :meth:`InferContext.run`. Input arrays may be changed as soon as this method returns.

        Parameters
        ----------
        callback : callable
            Called as ``callback(context, request_id)`` when the request has been answered or has
            failed. All callbacks of a context run in one thread, one after another.

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
            with short_traceback:
                self._start(*args, **kwargs)
            return None
        notice.used("TS053")
        with short_traceback:
            return self._start(_UNSET, *args, **kwargs)

    def async_run_with_cb(self, *args: Any, **kwargs: Any) -> None:
        """Send one inference without waiting for it: the name of :meth:`async_run` with a callback
        in releases 1.4 to 1.7.

        Deprecated [TS054], see ``tritonclient-shim guide asynchronous-requests-with-a-callback``.
        Instead: client.async_infer(model_name, inputs, outputs=outputs, callback=callback) on gRPC,
        client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what it returns
        over HTTP.

        Parameters, callback and errors are those of ``async_run(callback, inputs, outputs, …)``.
        """
        notice.used("TS054")
        with short_traceback:
            self._start(*args, **kwargs)

    def _start(
        self,
        callback: types.RequestCallback,
        inputs: types.Inputs,
        outputs: types.Outputs[Any],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> int:
        arguments = RunArguments(inputs, outputs, batch_size, flags, corr_id, priority, timeout_us)
        done = None if callback is _UNSET else lambda id: callback(self, id)
        return self._session().start(done, arguments)

    def get_async_run_results(self, request_id: types.Integer, wait: object = _UNSET) -> Any:
        """Return the results of an asynchronous request; this can be done once per request.

        Deprecated [TS055], see ``tritonclient-shim guide asynchronous-requests-with-a-callback``.
        Instead: the callback's arguments result and error on gRPC, get_result() of what async_infer
        returned over HTTP.

        Parameters
        ----------
        request_id : int
            The id that :meth:`async_run` returned, or that the callback was given.
        wait : bool, optional
            As in 1.7 and earlier: True waits for the request, False returns None if it is not
            ready. Without this argument, as in 1.8 and later, nothing is waited for: the id of a
            request with a callback is unknown until its callback is called. A request without a
            callback is waited for.

        Returns
        -------
        dict or None
            What :meth:`InferContext.run` returns; None as described for `wait`.

        Raises
        ------
        InferenceServerException
            The id is unknown, its results were fetched before, the request failed, or the context
            is closed.
        ctypes.ArgumentError
            `request_id` is no integer.
        """
        notice.used("TS055")
        with short_traceback:
            number = arguments.unsigned(request_id, UINT64, 2)
            exchange = self._session().fetch(number, None if wait is _UNSET else bool(wait))
            if exchange is None:
                self._last_request_id = 0
                return None
            return self._results(exchange)

    def get_ready_async_request(self, wait: object) -> int | None:
        """Return the id of a request without a callback whose results can be fetched.

        Releases 1.0 to 1.7 had this method.

        Deprecated [TS056], see ``tritonclient-shim guide asynchronous-requests-with-ids``. Instead:
        a queue.Queue that the callback fills on gRPC, get_result(block=False) of what async_infer
        returned over HTTP.

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
        with short_traceback:
            return self._session().ready(bool(wait))

    def _results(self, exchange: ContextExchange) -> dict[Any, list[Any]]:
        self._last_request_id = exchange.request_id
        # docs/v1-behaviour.md §4.4: the first result sets name and version where they are None.
        # run() has set them to None; after a fetch they may be those of an older request.
        if self._last_request_model_name is None and exchange.has_first:
            self._last_request_model_name = exchange.reply.model_name
            self._last_request_model_version = exchange.reply.model_version
        return exchange.results()

    def get_last_request_id(self) -> int | None:
        """Return the id of the last request that was answered.

        Deprecated [TS059], see ``tritonclient-shim guide what-the-last-request-was``. Instead:
        infer(..., request_id=...): an id of your own; result.get_response() has it.

        Returns
        -------
        int or None
            A positive number, unique in this process and higher for later requests: v1's server
            numbered its requests, a v2 server does not. None before the first answer and after a
            :meth:`run` that failed without one; 0 after a fetch that found its request not ready.
        """
        notice.used("TS059")
        return self._last_request_id

    def get_last_request_model_name(self) -> str | None:
        """Return the name of the model that answered the last request.

        Deprecated [TS060], see ``tritonclient-shim guide what-the-last-request-was``. Instead:
        result.get_response().model_name on gRPC, result.get_response()["model_name"] over HTTP.

        Returns
        -------
        str or None
            The name; None where no result has been read.
        """
        notice.used("TS060")
        return self._last_request_model_name

    def get_last_request_model_version(self) -> int | None:
        """Return the version of the model that answered last.

        Deprecated [TS061], see ``tritonclient-shim guide what-the-last-request-was``. Instead:
        result.get_response().model_version on gRPC, result.get_response()["model_version"] over
        HTTP.

        Returns
        -------
        int or None
            The version; -1 where the server's version is no number, such as ``v2.0``; None where
            no result has been read.
        """
        notice.used("TS061")
        return self._last_request_model_version

    def correlation_id(self) -> int:
        """Return the correlation id of the context's requests.

        Deprecated [TS058], see ``tritonclient-shim guide sequences``. Instead: the sequence_id that
        you give to infer().

        Returns
        -------
        int
            The id, 0 for none; after :meth:`close` the last one.
        """
        notice.used("TS058")
        session = self._ctx
        return self._last_correlation_id if session is None else session.correlation_id

    def get_stat(self) -> dict[str, int]:
        """Return the number of this context's completed requests, and the time that they took.

        Deprecated [TS057], see ``tritonclient-shim guide statistics``. Instead: time.perf_counter()
        around your calls; client.get_inference_statistics(name) for the server's side.

        Returns
        -------
        dict
            ``completed_request_count`` and, in nanoseconds, ``cumulative_total_request_time_ns``,
            ``cumulative_send_time_ns`` and ``cumulative_receive_time_ns``; all are int.

        Raises
        ------
        InferenceServerException
            The context is closed.
        """
        notice.used("TS057")
        with short_traceback:
            return self._session().stat.as_dict()


InferContext.__module__ = "tensorrtserver.api"
# help() and other tools show the signature of 1.8 and later.
InferContext.async_run.__signature__ = inspect.signature(  # type: ignore[attr-defined]
    InferContext._start
)
