"""The contexts that ask for the state of a server: its health, and its status with its models'
(docs/v1-behaviour.md §6.1, §6.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorrtserver.api._lazy_imports import arguments, control
from tensorrtserver.api._server_context import HttpHeaders, ServerContext
from tritonclient_shim import notice

if TYPE_CHECKING:
    from tensorrtserver.api import _types as types
    from tritonclient_shim.protos.server_status_pb2 import ServerStatus
    from tritonclient_shim.session.server import ServerSession


class ServerHealthContext(ServerContext):
    """Asks whether a server is live and ready (docs/v1-behaviour.md §6.1).

    Making a context sends nothing to the server (docs/v1-behaviour.md §6).

    Deprecated [TS020], see migration_guide.md#health. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        Address of the server, such as ``localhost:8000``. A scheme is accepted: ``https://`` and
        ``grpcs://`` mean TLS.
    protocol : ProtocolType or int
        HTTP (0) or GRPC (1) (docs/v1-behaviour.md §1.5).
    verbose : bool, optional
        Print each answer over gRPC (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes, optional
        ``"Name:Value"`` entries, sent with every HTTP request and never over gRPC
        (docs/v1-behaviour.md §6.6).

    Raises
    ------
    InferenceServerException
        `url` is None, `protocol` is a number other than 0 and 1, or a header has no colon.
    ctypes.ArgumentError
        `url` is neither str nor bytes.
    AttributeError
        An entry of `http_headers` is neither str nor bytes.
    OverflowError, TypeError, ValueError
        `protocol` is no finite number, or a setting cannot be used (docs/settings.md).
    """

    _notice_id = "TS020"
    _closed_name = "ServerHealthContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: types.ProtocolLike,
        verbose: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def is_live(self) -> bool:
        """Whether the server is live.

        Deprecated [TS021], see migration_guide.md#health. Instead: client.is_server_live().

        Returns
        -------
        bool
            Over HTTP, False also when something other than an inference server answers
            (docs/v1-behaviour.md §6.1).

        Raises
        ------
        InferenceServerException
            No server answers, over gRPC no inference server does, or the context is closed.
        """
        notice.used("TS021")
        return self._call(control.is_live, keep_id=False)

    def is_ready(self) -> bool:
        """Whether the server is ready to infer on every model it has loaded.

        Deprecated [TS022], see migration_guide.md#health. Instead: client.is_server_ready().

        Returns
        -------
        bool
            Over HTTP, False also when something other than an inference server answers
            (docs/v1-behaviour.md §6.1).

        Raises
        ------
        InferenceServerException
            No server answers, over gRPC no inference server does, or the context is closed.
        """
        notice.used("TS022")
        return self._call(control.is_ready, keep_id=False)


class ServerStatusContext(ServerContext):
    """Asks for the status of a server and its models (docs/v1-behaviour.md §6.2).

    Making a context sends nothing to the server (docs/v1-behaviour.md §6).

    Deprecated [TS025], see migration_guide.md#server-status. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        Address of the server, such as ``localhost:8000``. A scheme is accepted: ``https://`` and
        ``grpcs://`` mean TLS.
    protocol : ProtocolType or int
        HTTP (0) or GRPC (1) (docs/v1-behaviour.md §1.5).
    model_name : str or bytes, optional
        The model to ask about; None and '' ask about all models.
    verbose : bool, optional
        Print each status (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes, optional
        ``"Name:Value"`` entries, sent with every HTTP request and never over gRPC
        (docs/v1-behaviour.md §6.6).

    Raises
    ------
    InferenceServerException
        `url` is None, `protocol` is a number other than 0 and 1, or a header has no colon.
    ctypes.ArgumentError
        `url` or `model_name` is neither str nor bytes.
    AttributeError
        An entry of `http_headers` is neither str nor bytes.
    OverflowError, TypeError, ValueError
        `protocol` is no finite number, or a setting cannot be used (docs/settings.md).
    """

    _notice_id = "TS025"
    _closed_name = "ServerStatusContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: types.ProtocolLike,
        model_name: str | bytes | None = None,
        verbose: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._given_name = model_name
        self._open(url, protocol, verbose, http_headers)

    def _check_arguments(self) -> None:
        given = self._given_name
        self._model_name = "" if given is None else arguments.model_name(given, 6)

    def get_server_status(self) -> ServerStatus:
        """The status of the server and of its models, or of the context's one model.

        Deprecated [TS026], see migration_guide.md#server-status. Instead:
        client.get_server_metadata(), get_model_repository_index(), get_model_config(name) and
        get_inference_statistics().

        Returns
        -------
        ServerStatus
            v1's message; all its times are in nanoseconds unless their names say otherwise.
            Fields that a v2 server has no value for are unset (docs/v1-behaviour.md §6.2): the
            counters of calls other than inference, and for a model without a ready version its
            configuration, except the name. ``uptime_ns`` counts from this process's first status
            request to the server. Triton may count a request some milliseconds after its answer.

        Raises
        ------
        InferenceServerException
            The model is unknown, no inference server answers, or the context is closed.
        """
        notice.used("TS026")
        return self._call(self._status, keep_id=True)

    def _status(self, session: ServerSession, request_id: int) -> ServerStatus:
        return control.server_status(session, self._model_name, request_id)


ServerHealthContext.__module__ = "tensorrtserver.api"
ServerStatusContext.__module__ = "tensorrtserver.api"
