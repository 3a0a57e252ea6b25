"""The contexts for a server's model repositories: the index of all models, and model control
(docs/v1-behaviour.md §6.3, §6.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from tensorrtserver.api._lazy_imports import arguments, control
from tensorrtserver.api._server_context import HttpHeaders, ServerContext
from tritonclient_shim import notice

if TYPE_CHECKING:
    from tensorrtserver.api import _types as types
    from tritonclient_shim.protos.server_status_pb2 import ModelRepositoryIndex
    from tritonclient_shim.session.server import ServerSession


class ModelRepositoryContext(ServerContext):
    """Lists the models in a server's repositories (docs/v1-behaviour.md §6.3).

    Making a context sends nothing to the server (docs/v1-behaviour.md §6).

    Deprecated [TS030], see migration_guide.md#repository-index. Instead:
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
        Print each index (docs/v1-behaviour.md §10.2).
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

    _notice_id = "TS030"
    _closed_name = "ModelRepositoryContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: types.ProtocolLike,
        verbose: object = False,
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
            v1's message; ``models`` has each name once, sorted (docs/v1-behaviour.md §6.3).

        Raises
        ------
        InferenceServerException
            The server refuses, no inference server answers, or the context is closed.
        """
        notice.used("TS031")
        return self._call(control.repository_index, keep_id=True)


class ModelControlContext(ServerContext):
    """Loads and unloads models of a server in explicit control mode (docs/v1-behaviour.md §6.4).

    Making a context sends nothing to the server (docs/v1-behaviour.md §6).

    Deprecated [TS035], see migration_guide.md#loading-and-unloading. Instead:
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
        Prints nothing, as in v1 (docs/v1-behaviour.md §10.2).
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

    _notice_id = "TS035"
    _closed_name = "ModelControlContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: types.ProtocolLike,
        verbose: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def load(self, model_name: str | bytes) -> None:
        """Load a model, or load it again if it has changed on disk; return when it is ready.

        Deprecated [TS036], see migration_guide.md#loading-and-unloading. Instead:
        client.load_model(name).

        Parameters
        ----------
        model_name : str or bytes
            The model's name in the repository.

        Raises
        ------
        InferenceServerException
            The server is not in explicit control mode, does not know the model or fails to load
            it, with v1's texts (docs/v1-behaviour.md §6.4); no inference server answers; the
            context is closed; or `model_name` is None.
        ctypes.ArgumentError
            `model_name` is neither str nor bytes.
        """
        notice.used("TS036")
        self._control(control.load, model_name)

    def unload(self, model_name: str | bytes) -> None:
        """Unload a model; return while the model may still be finishing requests.

        Deprecated [TS037], see migration_guide.md#loading-and-unloading. Instead:
        client.unload_model(name).

        Parameters
        ----------
        model_name : str or bytes
            The model's name. The call succeeds also for a model that is unknown or not loaded.

        Raises
        ------
        InferenceServerException
            The server is not in explicit control mode or cannot unload the model
            (docs/v1-behaviour.md §6.4); no inference server answers; the context is closed; or
            `model_name` is None.
        ctypes.ArgumentError
            `model_name` is neither str nor bytes.
        """
        notice.used("TS037")
        self._control(control.unload, model_name)

    def _control(
        self, operation: Callable[[ServerSession, str, int], None], model_name: Any
    ) -> None:
        def named(session: ServerSession, request_id: int) -> None:
            operation(session, arguments.model_name(model_name, 2), request_id)

        self._call(named, keep_id=False)


ModelRepositoryContext.__module__ = "tensorrtserver.api"
ModelControlContext.__module__ = "tensorrtserver.api"
