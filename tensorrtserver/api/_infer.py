"""``InferContext``: inference, in the calling styles of all releases of v1
(docs/v1-behaviour.md §2, §3).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tensorrtserver.api._async import AsyncCalls
from tensorrtserver.api._infer_session import open_session
from tensorrtserver.api._last_request import LastRequest
from tensorrtserver.api._lazy_imports import errors, request
from tensorrtserver.api._unpicklable import Unpicklable
from tritonclient_shim import notice

if TYPE_CHECKING:
    from tensorrtserver.api import _types as types
    from tensorrtserver.api._server_context import HttpHeaders
    from tritonclient_shim.session.infer_session import InferSession
    from tritonclient_shim.session.requests import CompletedRequest

_Context = TypeVar("_Context", bound="InferContext")


class InferContext(AsyncCalls, LastRequest, Unpicklable):
    """Runs inference on one model of one server (docs/v1-behaviour.md §3).

    Deprecated [TS050], see migration_guide.md#inference. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    ``docs/v1-behaviour.md``, cited below, is in the source distribution and the repository.

    Parameters
    ----------
    url : str or bytes
        Address of the server, ``host:port``. A scheme is accepted (``https://`` and ``grpcs://``
        mean TLS), and for HTTP a path prefix as well.
    protocol : ProtocolType or int
        HTTP (0) or GRPC (1) (docs/v1-behaviour.md §1.5).
    model_name : str or bytes
        Name of the model. Its configuration is asked for once, now.
    model_version : int, optional
        Version of the model. None and -1 mean the latest, over HTTP any negative number does.
    verbose : bool, optional
        Print the server's status now (docs/v1-behaviour.md §10.2).
    correlation_id : int, optional
        Correlation id of the requests' sequence, modulo 2**64; 0 means no sequence.
    streaming : bool, optional
        Send all requests over one gRPC stream, which keeps their order (docs/v1-behaviour.md §5).
    http_headers : list of str or bytes, optional
        ``"Name:Value"`` entries, sent with every HTTP request and never over gRPC
        (docs/v1-behaviour.md §6.6).

    Raises
    ------
    InferenceServerException
        No inference server answers, it does not know the model, or an argument has a value that
        cannot be used (docs/v1-behaviour.md §3.1).
    ctypes.ArgumentError
        `url` or `model_name` is no text, or `model_version` or `correlation_id` is no integer.
    AttributeError
        An entry of `http_headers` is neither str nor bytes.
    OverflowError, TypeError, ValueError
        `protocol` is no finite number, or a setting cannot be used (docs/settings.md).
    """

    class ResultFormat:
        """The form of an output's result: ``RAW``, its array, or ``CLASS``, its best classes.

        As in v1, ``RAW`` is a tuple and ``CLASS`` an int (docs/v1-behaviour.md §3.8).
        """

        RAW = (1,)
        CLASS = 2

    _ctx: InferSession | None = None
    _may_wait = True  # close() may wait for answers

    def __init__(
        self,
        url: types.Text,
        protocol: types.ProtocolLike,
        model_name: types.Text,
        model_version: types.Integer | None = None,
        verbose: object = False,
        correlation_id: types.Integer = 0,
        streaming: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._forget_last()
        self._correlation_id = correlation_id
        self._last_correlation_id = 0
        notice.used("TS050")
        self._ctx = open_session(
            url, protocol, model_name, model_version, verbose, correlation_id, streaming,
            http_headers)  # fmt: skip

    def __enter__(self: _Context) -> _Context:
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.close()

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
        after the next answer and its callback, on a stream after all answers
        (docs/v1-behaviour.md §5). Every later request raises InferenceServerException.
        """
        session, self._ctx = self._ctx, None
        if session is not None:
            self._last_correlation_id = session.correlation_id
            session.close(self._may_wait)

    def _session(self) -> InferSession:
        if self._ctx is None:
            # v1 ended the process here (docs/v1-behaviour.md §6); known difference
            # ``closed-infer-context``.
            raise errors.InferenceServerException("InferContext is closed")
        return self._ctx

    @overload
    def run(
        self,
        inputs: types.Inputs,
        outputs: types.RawOutputs[types.Name],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> types.RawResults[types.Name]: ...

    @overload
    def run(
        self,
        inputs: types.Inputs,
        outputs: types.ClassOutputs[types.Name],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> types.ClassResults[types.Name]: ...

    @overload
    def run(
        self,
        inputs: types.Inputs,
        outputs: types.Outputs[types.Name],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> types.Results[types.Name]: ...

    def run(
        self,
        inputs: types.Inputs,
        outputs: types.Outputs[Any],
        batch_size: types.Integer = 1,
        flags: types.Integer = 0,
        corr_id: types.Integer = 0,
        priority: types.Integer = 0,
        timeout_us: types.Integer = 0,
    ) -> Any:
        """Run one inference and wait for its results.

        Deprecated [TS051], see migration_guide.md#inference. Instead: client.infer(model_name,
        inputs, outputs=outputs).

        Parameters
        ----------
        inputs : dict
            Name of each input of the model (str or bytes) → a list of numpy arrays, one per batch
            entry, without the batch dimension (docs/v1-behaviour.md §3.3). Their bytes are sent as
            they are, in C order, without conversion to the input's datatype; a string input takes
            dtype object, ``S`` or ``U`` (docs/v1-behaviour.md §3.6). Instead of the list: the
            handle of a shared-memory region with all entries, or ``(handle, shape)`` with the
            shape of one entry as a list (docs/v1-behaviour.md §3.7).
        outputs : dict
            Name of each output wanted (str or bytes) → ``ResultFormat.RAW`` for an array,
            ``(ResultFormat.CLASS, k)`` for the k best classes, or ``(ResultFormat.RAW, handle)``
            for an array by way of a shared-memory region (docs/v1-behaviour.md §3.8).
        batch_size : int, optional
            Number of batch entries. 0 runs one entry and returns empty lists
            (docs/v1-behaviour.md §3.5).
        flags : int, optional
            ``InferRequestHeader.FLAG_SEQUENCE_START`` (1), ``FLAG_SEQUENCE_END`` (2) or both (3).
        corr_id : int, optional
            New correlation id, modulo 2**64, which the context keeps; 0 leaves the present one
            (docs/v1-behaviour.md §3.9).
        priority : int, optional
            Priority level for the model's scheduler; 0 is the model's default.
        timeout_us : int, optional
            Time limit in the server's queue, in microseconds; 0 is none.

        Returns
        -------
        dict
            Name of each output, in the order of `outputs` → a list with one element per batch
            entry. For RAW it is a writable array of the caller's own, without the batch dimension
            and of the dtype of the model's configuration, object with bytes for strings
            (docs/v1-behaviour.md §4.1); for CLASS a list of ``(index, value, label)``, the highest
            value first (docs/v1-behaviour.md §4.2).

        Raises
        ------
        InferenceServerException
            An argument cannot be used, the server refused the request, no inference server
            answers, or the context is closed.
        ctypes.ArgumentError
            A number is no integer.
        AttributeError, IndexError, TypeError, ValueError
            `inputs` or `outputs` is no such dict (docs/v1-behaviour.md §3.3, §3.8).
        """
        notice.used("TS051")
        self._forget_last()
        arguments = request.RunArguments(
            inputs, outputs, batch_size, flags, corr_id, priority, timeout_us
        )
        return self._read(self._session().run(arguments))

    def _read(self, answer: CompletedRequest) -> dict[Any, list[Any]]:
        self._last_request_id = answer.request_id
        results: dict[Any, list[Any]] = {}
        try:
            answer.read_into(results)
        finally:
            # docs/v1-behaviour.md §4.4: the first result sets name and version where they are None.
            # run() has set them to None; after a fetch they may be those of an older request.
            if answer.has_first and self._last_request_model_name is None:
                self._last_request_model_name = answer.reply.model_name
                self._last_request_model_version = answer.reply.model_version
        return results

    def correlation_id(self) -> int:
        """The correlation id of the context's requests (docs/v1-behaviour.md §3.9).

        Deprecated [TS058], see migration_guide.md#sequences. Instead: the sequence_id that you
        give to infer().

        Returns
        -------
        int
            The id, 0 for none; after :meth:`close` the last one (docs/v1-behaviour.md §E.13).
        """
        notice.used("TS058")
        if self._ctx is None:
            return self._last_correlation_id
        return self._ctx.correlation_id

    def get_stat(self) -> dict[str, int]:
        """The number of this context's completed requests, and the time that they took
        (docs/v1-behaviour.md §4.6).

        Deprecated [TS057], see migration_guide.md#statistics. Instead: time.perf_counter() around
        your calls; client.get_inference_statistics(name) for the server's side.

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
        return self._session().stat.as_dict()


InferContext.__module__ = "tensorrtserver.api"
