"""The contexts that do no inference, but for shared-memory control (docs/v1-behaviour.md §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from tensorrtserver.api._lazy_imports import arguments, control
from tensorrtserver.api._server_context import HttpHeaders, ServerContext
from tritonclient_shim import notice

if TYPE_CHECKING:
    from tritonclient_shim.protos.server_status_pb2 import ModelRepositoryIndex, ServerStatus
    from tritonclient_shim.session.server import ServerSession


class ServerHealthContext(ServerContext):
    """Asks whether a server is live and ready (docs/v1-behaviour.md §6.1).

    Deprecated [TS020], see migration_guide.md#health. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        The server, such as ``localhost:8000``; a scheme is accepted.
    protocol : ProtocolType or int
        How to speak to it.
    verbose : bool
        Print gRPC answers (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes
        ``"Name:Value"`` entries sent with every HTTP request (docs/v1-behaviour.md §6.6).
    """

    _notice_id = "TS020"
    _closed_name = "ServerHealthContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: int,
        verbose: bool = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def is_live(self) -> bool:
        """Whether the server is live.

        Deprecated [TS021], see migration_guide.md#health. Instead: client.is_server_live().

        Returns
        -------
        bool
            Over HTTP False also for whatever else answers at the url (docs/v1-behaviour.md §6.1).

        Raises
        ------
        InferenceServerException
            If no server answers.
        """
        notice.used("TS021")
        return self._call(control.is_live, keep_id=False)

    def is_ready(self) -> bool:
        """Whether the server is ready to infer on every model it has loaded.

        Deprecated [TS022], see migration_guide.md#health. Instead: client.is_server_ready().

        Returns
        -------
        bool
            Over HTTP False also for whatever else answers at the url (docs/v1-behaviour.md §6.1).

        Raises
        ------
        InferenceServerException
            If no server answers.
        """
        notice.used("TS022")
        return self._call(control.is_ready, keep_id=False)


class ServerStatusContext(ServerContext):
    """Asks for the status of a server and its models (docs/v1-behaviour.md §6.2).

    Deprecated [TS025], see migration_guide.md#server-status. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        The server, such as ``localhost:8000``; a scheme is accepted.
    protocol : ProtocolType or int
        How to speak to it.
    model_name : str or bytes, optional
        The one model to ask about; None or '' asks about all.
    verbose : bool
        Print every status (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes
        ``"Name:Value"`` entries sent with every HTTP request (docs/v1-behaviour.md §6.6).
    """

    _notice_id = "TS025"
    _closed_name = "ServerStatusContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: int,
        model_name: str | bytes | None = None,
        verbose: bool = False,
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
            v1's message. Unset in it is what a v2 server does not tell (docs/v1-behaviour.md §6.2):
            the counters of calls other than inference, and the configuration of a model without a
            ready version but for its name. ``uptime_ns`` counts from the first status this process
            asked of the server. Inference counts can miss a request answered some milliseconds ago:
            Triton counts after it has replied.

        Raises
        ------
        InferenceServerException
            If the model is unknown, or no inference server answers.
        """
        notice.used("TS026")
        return self._call(self._status, keep_id=True)

    def _status(self, session: ServerSession, request_id: int) -> ServerStatus:
        return control.server_status(session, self._model_name, request_id)


class ModelRepositoryContext(ServerContext):
    """Lists the models in a server's repositories (docs/v1-behaviour.md §6.3).

    Deprecated [TS030], see migration_guide.md#repository-index. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        The server, such as ``localhost:8000``; a scheme is accepted.
    protocol : ProtocolType or int
        How to speak to it.
    verbose : bool
        Print every index (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes
        ``"Name:Value"`` entries sent with every HTTP request (docs/v1-behaviour.md §6.6).
    """

    _notice_id = "TS030"
    _closed_name = "ModelRepositoryContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: int,
        verbose: bool = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def get_model_repository_index(self) -> ModelRepositoryIndex:
        """The names of all models in the repositories, loaded or not.

        Deprecated [TS031], see migration_guide.md#repository-index. Instead:
        client.get_model_repository_index().

        Returns
        -------
        ModelRepositoryIndex
            v1's message: every name once, sorted (docs/v1-behaviour.md §6.3).

        Raises
        ------
        InferenceServerException
            If the server refuses, or no inference server answers.
        """
        notice.used("TS031")
        return self._call(control.repository_index, keep_id=True)


class ModelControlContext(ServerContext):
    """Loads and unloads models of a server in explicit control mode (docs/v1-behaviour.md §6.4).

    Deprecated [TS035], see migration_guide.md#loading-and-unloading. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        The server, such as ``localhost:8000``; a scheme is accepted.
    protocol : ProtocolType or int
        How to speak to it.
    verbose : bool
        Prints nothing (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes
        ``"Name:Value"`` entries sent with every HTTP request (docs/v1-behaviour.md §6.6).
    """

    _notice_id = "TS035"
    _closed_name = "ModelControlContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: int,
        verbose: bool = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def load(self, model_name: str | bytes) -> None:
        """Load a model, or reload it when it changed on disk; returns when it is ready.

        Deprecated [TS036], see migration_guide.md#loading-and-unloading. Instead:
        client.load_model(name).

        Parameters
        ----------
        model_name : str or bytes
            The model's name in the repository.

        Raises
        ------
        InferenceServerException
            If the server is not in explicit control mode, does not know the model or fails to
            load it, with v1's texts (docs/v1-behaviour.md §6.4).
        ctypes.ArgumentError
            If `model_name` is no text.
        """
        notice.used("TS036")
        self._control(control.load, model_name)

    def unload(self, model_name: str | bytes) -> None:
        """Unload a model; returns while it may still be finishing requests.

        Deprecated [TS037], see migration_guide.md#loading-and-unloading. Instead:
        client.unload_model(name).

        Parameters
        ----------
        model_name : str or bytes
            The model's name; an unknown or unloaded one succeeds.

        Raises
        ------
        InferenceServerException
            If the server is not in explicit control mode, or cannot unload it
            (docs/v1-behaviour.md §6.4).
        ctypes.ArgumentError
            If `model_name` is no text.
        """
        notice.used("TS037")
        self._control(control.unload, model_name)

    def _control(
        self, operation: Callable[[ServerSession, str, int], None], model_name: Any
    ) -> None:
        def named(session: ServerSession, request_id: int) -> None:
            operation(session, arguments.model_name(model_name, 2), request_id)

        self._call(named, keep_id=False)


for _context in (
    ServerHealthContext,
    ServerStatusContext,
    ModelRepositoryContext,
    ModelControlContext,
):
    _context.__module__ = "tensorrtserver.api"
