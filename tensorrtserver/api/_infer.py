"""InferContext: inference in every calling style of v1 (docs/v1-behaviour.md §3.8)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tensorrtserver.api import _lazy_imports as lazy
from tensorrtserver.api._async import AsyncCalls
from tensorrtserver.api._protocol import protocol_of
from tritonclient_shim import notice
from tritonclient_shim.core.ids import next_request_id

if TYPE_CHECKING:
    from tritonclient_shim.session.inference import InferSession
    from tritonclient_shim.session.requests import CompletedRequest


class InferContext(AsyncCalls):
    """Runs inference on one model of one server.

    Deprecated [TS050], see migration_guide.md#inference. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    ``docs/v1-behaviour.md``, cited below, is in the source distribution and the repository.

    Parameters
    ----------
    url : str or bytes
        ``host:port``; a scheme is accepted (``https://`` and ``grpcs://`` mean TLS), for HTTP
        a path prefix as well.
    protocol : ProtocolType or int
        HTTP (0) or GRPC (1).
    model_name : str or bytes
        The model.
    model_version : int, optional
        The version; None, and any negative number over HTTP, is the latest
        (docs/v1-behaviour.md §3.1).
    verbose : bool, optional
        Print the server's status when the context is made (docs/v1-behaviour.md §10.2).
    correlation_id : int, optional
        Sequence of the requests, modulo 2**64; 0 is none.
    streaming : bool, optional
        Send requests over one gRPC stream; GRPC only.
    http_headers : list of str or bytes, optional
        ``"Name:Value"`` entries sent with every HTTP request (docs/v1-behaviour.md §6.6).

    Raises
    ------
    InferenceServerException
        The server cannot be reached or does not know the model (docs/v1-behaviour.md §3.1).
    ctypes.ArgumentError
        `model_version` or `correlation_id` is not an integer.
    ValueError, TypeError
        `protocol` is not a number.
    """

    class ResultFormat:
        """How an output is to be returned; ``RAW`` is a tuple, ``CLASS`` an int."""

        RAW = (1,)
        CLASS = 2

    _ctx: InferSession | None = None
    _waits = True  # may close() wait?

    def __init__(
        self,
        url: Any,
        protocol: Any,
        model_name: Any,
        model_version: Any = None,
        verbose: Any = False,
        correlation_id: Any = 0,
        streaming: Any = False,
        http_headers: Any = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._forget_last()
        self._correlation_id = correlation_id
        self._last_correlation_id = 0
        notice.used("TS050")
        self._ctx = _open(
            url,
            protocol,
            model_name,
            model_version,
            verbose,
            correlation_id,
            streaming,
            http_headers,
        )

    def __enter__(self) -> InferContext:
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.close()

    def __del__(self) -> None:
        # At the interpreter's end threads stop wherever they are, with their locks: hands off.
        # Before that, the garbage collector calls this at any moment, also while its thread
        # holds a lock of gRPC's: waiting, as v1 did (docs/v1-behaviour.md §5), could wait for this
        # very thread.
        if not sys.is_finalizing():
            self._waits = False
            self.close()

    def close(self) -> None:
        """Close the context; a second call does nothing.

        Outstanding asynchronous requests are dropped: at once over HTTP, after the next
        response and its callback over gRPC, after all responses on a stream
        (docs/v1-behaviour.md §5).
        """
        session, self._ctx = self._ctx, None
        if session is not None:
            self._last_correlation_id = session.correlation_id
            session.close(self._waits)

    def _session(self) -> InferSession:
        if self._ctx is None:
            # v1 ended the process here (docs/v1-behaviour.md §6); known difference
            # ``closed-infer-context``.
            raise lazy.errors.InferenceServerException("InferContext is closed")
        return self._ctx

    def _forget_last(self) -> None:
        self._last_request_id: int | None = None
        self._last_request_model_name: str | None = None
        self._last_request_model_version: int | None = None

    # ------------------------------------------------------------------------ inference

    def run(
        self,
        inputs: Any,
        outputs: Any,
        batch_size: Any = 1,
        flags: Any = 0,
        corr_id: Any = 0,
        priority: Any = 0,
        timeout_us: Any = 0,
    ) -> dict[Any, list[Any]]:
        """Run one inference and wait for its results.

        Deprecated [TS051], see migration_guide.md#inference. Instead: client.infer(model_name,
        inputs, outputs=outputs).

        Parameters
        ----------
        inputs : dict
            Input name to a list of arrays, one per batch entry and without the batch
            dimension; or to a shared-memory handle, or ``(handle, shape)``
            (docs/v1-behaviour.md §3.3, §3.7). Bytes are sent as they are, never converted; object,
            ``S`` and ``U`` arrays are strings.
        outputs : dict
            Output name to ``RAW``, ``(CLASS, k)`` or ``(RAW, handle)`` (docs/v1-behaviour.md §3.8).
        batch_size : int, optional
            Number of batch entries; 0 runs one and returns empty lists (docs/v1-behaviour.md §3.5).
        flags : int, optional
            ``InferRequestHeader.FLAG_SEQUENCE_START`` (1), ``FLAG_SEQUENCE_END`` (2).
        corr_id : int, optional
            New correlation id; it stays with the context. 0 keeps the present one.
        priority : int, optional
            Priority level for the model's scheduler, 0 is its default.
        timeout_us : int, optional
            Time limit in the server's queue in microseconds, 0 is none.

        Returns
        -------
        dict
            Output name to a list with one entry per batch entry: a private writable array,
            or a list of ``(index, value, label)`` for CLASS (docs/v1-behaviour.md §4).

        Raises
        ------
        InferenceServerException
            The request is invalid, or the server or the connection failed.
        ctypes.ArgumentError
            A number is not an integer.
        """
        notice.used("TS051")
        self._forget_last()
        scalars = (batch_size, flags, corr_id, priority, timeout_us)
        answer = self._session().run(inputs, outputs, scalars)
        return self._read(answer)

    # ---------------------------------------------------------------------- information

    def _read(self, answer: CompletedRequest) -> dict[Any, list[Any]]:
        self._last_request_id = answer.request_id
        results: dict[Any, list[Any]] = {}
        try:
            answer.read_into(results)
        finally:
            # docs/v1-behaviour.md §4.4: the first result that is there tells name and version, and
            # only where there are none: after run() always, after a fetch they may be of an older
            # request.
            if answer.has_first and self._last_request_model_name is None:
                self._last_request_model_name = answer.reply.model_name
                self._last_request_model_version = answer.reply.model_version
        return results

    def correlation_id(self) -> int:
        """The context's present correlation id; works after :meth:`close` as well
        (docs/v1-behaviour.md §E.13).

        Deprecated [TS058], see migration_guide.md#sequences. Instead: the sequence_id that you
        give to infer().
        """
        notice.used("TS058")
        if self._ctx is None:
            return self._last_correlation_id
        return self._ctx.correlation_id

    def get_last_request_id(self) -> int | None:
        """Id of the last answered request, counted by this process; None if none
        (docs/v1-behaviour.md §4.4).

        Deprecated [TS059], see migration_guide.md#what-the-last-request-was. Instead:
        infer(..., request_id=...): an id of your own; result.get_response() has it.

        v1's server numbered its requests; v2 servers do not, so the numbers are made here:
        positive, increasing, unique in the process.
        """
        notice.used("TS059")
        return self._last_request_id

    def get_last_request_model_name(self) -> str | None:
        """Name of the model that answered last, None if none (docs/v1-behaviour.md §4.4).

        Deprecated [TS060], see migration_guide.md#what-the-last-request-was. Instead:
        result.get_response().model_name on gRPC, result.get_response()["model_name"] over
        HTTP.
        """
        notice.used("TS060")
        return self._last_request_model_name

    def get_last_request_model_version(self) -> int | None:
        """Version of the model that answered last, None if none (docs/v1-behaviour.md §4.4).

        It is -1, "the latest", where the server's version is no number, such as ``v2.0``.

        Deprecated [TS061], see migration_guide.md#what-the-last-request-was. Instead:
        result.get_response().model_version on gRPC,
        result.get_response()["model_version"] over HTTP.
        """
        notice.used("TS061")
        return self._last_request_model_version

    def get_stat(self) -> dict[str, int]:
        """Counters of this context (docs/v1-behaviour.md §4.6): requests, and nanoseconds spent on
        them.

        Deprecated [TS057], see migration_guide.md#statistics. Instead: time.perf_counter() around
        your calls; client.get_inference_statistics(name) for the server's side.

        Returns
        -------
        dict
            ``completed_request_count``, ``cumulative_total_request_time_ns``,
            ``cumulative_send_time_ns``, ``cumulative_receive_time_ns``.
        """
        notice.used("TS057")
        return self._session().stat.as_dict()


InferContext.__module__ = "tensorrtserver.api"


def _open(
    url: Any,
    protocol: Any,
    model_name: Any,
    model_version: Any,
    verbose: Any,
    correlation_id: Any,
    streaming: Any,
    http_headers: Any,
) -> InferSession:
    """The constructor's arguments, checked in v1's order (docs/v1-behaviour.md §3.1) → an open
    session."""
    lazy.headers.check_kinds(http_headers)
    number = int(protocol)
    address = lazy.arguments.text(url, "url", 2, "replace")
    name = lazy.arguments.text(model_name, "model_name", 6)
    version = -1 if model_version is None else lazy.arguments.signed64(model_version, 7)
    sequence = lazy.arguments.unsigned(correlation_id, lazy.arguments.UINT64, 8)
    kind = protocol_of(number)
    if streaming and kind == "http":
        raise lazy.errors.InferenceServerException("Streaming is only allowed with gRPC protocol")
    sent = lazy.headers.parse_headers(http_headers, kind)
    lazy.headers.refuse_reserved(sent)
    server = lazy.endpoint.parse_url(address, kind)
    session = lazy.inference.InferSession(
        server, sent, name, version, sequence, bool(streaming), bool(verbose)
    )
    if verbose:
        lazy.control.server_status(session, name, next_request_id())
    return session
