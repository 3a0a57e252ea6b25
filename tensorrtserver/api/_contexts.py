"""The contexts that do no inference: health, status, repository, model control and shared memory.

What methods need is imported by the first call, so that ``import tensorrtserver.api`` stays cheap.
"""

from __future__ import annotations

from ctypes import c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from tensorrtserver.api._base import Context, HttpHeaders, ProtocolLike, short_traceback
from tritonclient_shim import notice
from tritonclient_shim.core import arguments
from tritonclient_shim.registry.star_names import LazyModule

if TYPE_CHECKING:
    from tritonclient_shim.protos.server_status_pb2 import (
        ModelRepositoryIndex,
        ServerStatus,
        SharedMemoryStatus,
    )
    from tritonclient_shim.session import control
    from tritonclient_shim.session.server import ServerSession
else:
    control = LazyModule("tritonclient_shim.session.control")

_T = TypeVar("_T")


class ServerContext(Context):
    """A context that does no inference: a session with one server, and the last request's id.

    Raises
    ------
    InferenceServerException
        By each method but ``close``: no inference server answers, the server refuses the call, or
        the context is closed. Methods document further reasons and exceptions.
    """

    _notice_id = ""  # the class's id in tritonclient_shim.registry
    _ctx: ServerSession | None = None
    _last_request_id: int | None = 0

    def __init__(
        self,
        url: str | bytes,
        protocol: ProtocolLike,
        verbose: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        """Make a context; nothing is sent to the server.

        Parameters
        ----------
        url : str or bytes
            Address of the server, such as ``localhost:8000``. A scheme is accepted: ``https://``
            and ``grpcs://`` mean TLS.
        protocol : ProtocolType or int
            HTTP (0) or GRPC (1).
        verbose : bool, optional
            Print what the server answers.
        http_headers : sequence of str or bytes, optional
            ``"Name:Value"`` entries, sent with every HTTP request and never over gRPC.

        Raises
        ------
        InferenceServerException
            `url` is None, `protocol` is a number other than 0 and 1, or a header has no colon.
        ctypes.ArgumentError
            `url` is neither str nor bytes.
        AttributeError
            An entry of `http_headers` is neither str nor bytes.
        OverflowError, TypeError, ValueError
            `protocol` is no finite number, or a setting cannot be used:
            ``tritonclient-shim guide settings`` describes them.
        """
        with short_traceback:
            self._open(url, protocol, verbose, http_headers)

    def _open(
        self, url: Any, protocol: Any, verbose: Any, http_headers: Any, model_name: Any = None
    ) -> None:
        """Check the arguments in v1's order and make the session."""
        notice.used(self._notice_id)
        from tritonclient_shim.session.server import ServerSession
        from tritonclient_shim.translate import constructors

        constructors.check_headers(http_headers)
        number = int(protocol)
        address = arguments.text(url, "url", 2, "replace")
        self._model_name = "" if model_name is None else arguments.model_name(model_name, 6)
        endpoint = constructors.parse_url(address, constructors.protocol_of(number))
        headers = constructors.parse_headers(http_headers, endpoint.protocol)
        kind = partial(ServerSession, owner=self._name)
        self._ctx = kind(endpoint, headers, bool(verbose))

    def _call(self, operation: Callable[..., _T], *arguments: object, keep_id: bool = False) -> _T:
        """Run an operation of the session under a new request id and return its result.

        That id becomes the last request's id; 0 where v1 did not keep it, None after a failure.
        """
        self._last_request_id = None
        session = self._ctx  # once: another thread or a signal's handler may close the context
        if session is None:
            raise self._closed()
        from tritonclient_shim.core.model import next_request_id

        request_id = next_request_id()
        result = operation(session, *arguments, request_id)
        self._last_request_id = request_id if keep_id else 0
        return result

    def get_last_request_id(self) -> int | None:
        """Return the request id of the last call.

        Deprecated [TS046], see ``tritonclient-shim guide what-the-last-request-was``. Instead:
        client calls take request ids for inference alone; your log can number the others.

        Returns
        -------
        int or None
            The number that this process gave the request, because a v2 server gives none. 0 before
            the first call and after calls whose id v1 did not keep, None after a failed call.
        """
        notice.used("TS046")
        return self._last_request_id

    def close(self) -> None:
        """Close the context; a second call does nothing.

        Every other call to the server then raises InferenceServerException.
        """
        session, self._ctx = self._ctx, None
        if session is not None:
            session.close()

    def __del__(self) -> None:
        # As in v1, also at the interpreter's end: unlike InferContext's, this close does not wait,
        # and takes no lock that a stopped thread could hold.
        self.close()


class ServerHealthContext(ServerContext):
    """Asks whether a server is live and ready.

    Deprecated [TS020], see ``tritonclient-shim guide health``. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    """

    __module__ = "tensorrtserver.api"
    _notice_id = "TS020"
    _name = "ServerHealthContext"

    def is_live(self) -> bool:
        """Return True if the server is live.

        Deprecated [TS021], see ``tritonclient-shim guide health``. Instead:
        client.is_server_live().

        Over HTTP, return False also if another kind of server answers.
        """
        notice.used("TS021")
        with short_traceback:
            return self._call(control.health, "live")

    def is_ready(self) -> bool:
        """Return True if the server is ready to infer on every model it has loaded.

        Deprecated [TS022], see ``tritonclient-shim guide health``. Instead:
        client.is_server_ready().

        Over HTTP, return False also if another kind of server answers.
        """
        notice.used("TS022")
        with short_traceback:
            return self._call(control.health, "ready")


class ServerStatusContext(ServerContext):
    """Asks for the status of a server and its models.

    Deprecated [TS025], see ``tritonclient-shim guide server-status``. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    """

    __module__ = "tensorrtserver.api"
    _notice_id = "TS025"
    _name = "ServerStatusContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: ProtocolLike,
        model_name: str | bytes | None = None,
        verbose: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        """Make a context; nothing is sent to the server.

        Other parameters and exceptions are those of :class:`ServerHealthContext`.

        Parameters
        ----------
        model_name : str or bytes, optional
            The model to ask about; None and '' ask about all models. ctypes.ArgumentError for
            everything else.
        """
        with short_traceback:
            self._open(url, protocol, verbose, http_headers, model_name)

    def get_server_status(self) -> ServerStatus:
        """Return the status of the server and of its models, or of the context's one model.

        Deprecated [TS026], see ``tritonclient-shim guide server-status``. Instead:
        client.get_server_metadata(), get_model_repository_index(), get_model_config(name) and
        get_inference_statistics().

        Returns
        -------
        ServerStatus
            v1's message; all its times are in nanoseconds unless their names say otherwise. Fields
            that a v2 server has no value for are unset: the counters of calls other than inference,
            and for a model without a ready version its configuration, except the name.
            ``uptime_ns`` counts from this process's first status request to the server. Triton may
            count a request some milliseconds after its answer. InferenceServerException for an
            unknown model.
        """
        notice.used("TS026")
        with short_traceback:
            return self._call(control.server_status, self._model_name, keep_id=True)


class ModelRepositoryContext(ServerContext):
    """Lists the models in a server's repositories.

    Deprecated [TS030], see ``tritonclient-shim guide repository-index``. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    """

    __module__ = "tensorrtserver.api"
    _notice_id = "TS030"
    _name = "ModelRepositoryContext"

    def get_model_repository_index(self) -> ModelRepositoryIndex:
        """Return the names of all models in the repositories, loaded or not.

        Deprecated [TS031], see ``tritonclient-shim guide repository-index``. Instead:
        client.get_model_repository_index().

        Returns
        -------
        ModelRepositoryIndex
            v1's message; ``models`` has each name once, sorted.
        """
        notice.used("TS031")
        with short_traceback:
            return self._call(control.repository_index, keep_id=True)


class ModelControlContext(ServerContext):
    """Loads and unloads models of a server in explicit control mode.

    Deprecated [TS035], see ``tritonclient-shim guide loading-and-unloading``. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    """

    __module__ = "tensorrtserver.api"
    _notice_id = "TS035"
    _name = "ModelControlContext"

    def load(self, model_name: str | bytes) -> None:
        """Load a model, or load it again if it has changed on disk; return when it is ready.

        Deprecated [TS036], see ``tritonclient-shim guide loading-and-unloading``. Instead:
        client.load_model(name).

        Parameters
        ----------
        model_name : str or bytes
            The model's name in the repository.

        Raises
        ------
        InferenceServerException
            The server is not in explicit control mode, does not know the model or fails to load it,
            with v1's texts; or `model_name` is None.
        ctypes.ArgumentError
            `model_name` is neither str nor bytes.
        """
        notice.used("TS036")
        with short_traceback:
            self._control(control.load, model_name)

    def unload(self, model_name: str | bytes) -> None:
        """Unload a model; return while the model may still be finishing requests.

        Deprecated [TS037], see ``tritonclient-shim guide loading-and-unloading``. Instead:
        client.unload_model(name).

        Parameters
        ----------
        model_name : str or bytes
            The model's name. The call succeeds also for a model that is unknown or not loaded.

        Raises
        ------
        InferenceServerException
            The server is not in explicit control mode or cannot unload the model; or `model_name`
            is None.
        ctypes.ArgumentError
            `model_name` is neither str nor bytes.
        """
        notice.used("TS037")
        with short_traceback:
            self._control(control.unload, model_name)

    def _control(
        self, operation: Callable[[ServerSession, str, int], None], model_name: Any
    ) -> None:
        self._call(lambda session, id: operation(session, arguments.model_name(model_name, 2), id))


class SharedMemoryControlContext(ServerContext):
    """Registers shared-memory regions with a server, for inputs and outputs of inference.

    Deprecated [TS040], see ``tritonclient-shim guide system-shared-memory``. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.
    """

    __module__ = "tensorrtserver.api"
    _notice_id = "TS040"
    _name = "SharedMemoryControlContext"

    def register(self, shm_handle: c_void_p) -> None:
        """Register a system shared-memory region under its name.

        Deprecated [TS041], see ``tritonclient-shim guide system-shared-memory``. Instead:
        client.register_system_shared_memory(name, key, byte_size).

        Several names may have the same key.

        Parameters
        ----------
        shm_handle : ctypes.c_void_p
            Handle from ``tensorrtserver.shared_memory.create_shared_memory_region``.

        Raises
        ------
        InferenceServerException
            The name is registered already; the server cannot open the key, because it runs on
            another machine or the region was destroyed; the key is not of the form ``/name``
            (over HTTP); or `shm_handle` is no handle of a system region.
        """
        notice.used("TS041")
        with short_traceback:
            self._call(control.register, shm_handle)

    def cuda_register(self, cuda_shm_handle: c_void_p) -> None:
        """Register a CUDA shared-memory region under its name.

        Deprecated [TS042], see ``tritonclient-shim guide cuda-shared-memory``. Instead:
        client.register_cuda_shared_memory(name, raw_handle, device_id, byte_size).

        Parameters
        ----------
        cuda_shm_handle : ctypes.c_void_p
            Handle from ``tensorrtserver.cuda_shared_memory.create_shared_memory_region``.

        Raises
        ------
        InferenceServerException
            The name is registered already; the server cannot open the memory, for example because
            it has no GPU; or `cuda_shm_handle` is no handle of a CUDA region.
        """
        notice.used("TS042")
        with short_traceback:
            self._call(control.cuda_register, cuda_shm_handle)

    def unregister(self, shm_handle: c_void_p) -> None:
        """Unregister a region of either kind; the region itself stays.

        Deprecated [TS043], see ``tritonclient-shim guide system-shared-memory``. Instead:
        client.unregister_system_shared_memory(name), unregister_cuda_shared_memory(name).

        Parameters
        ----------
        shm_handle : ctypes.c_void_p
            The region's handle. The call succeeds also for a region that is not registered.
            InferenceServerException if a request keeps using the region, or for no handle.
        """
        notice.used("TS043")
        with short_traceback:
            self._call(control.unregister, shm_handle)

    def unregister_all(self) -> None:
        """Unregister all regions of the server, also those of other clients.

        Deprecated [TS044], see ``tritonclient-shim guide system-shared-memory``. Instead:
        client.unregister_system_shared_memory() and unregister_cuda_shared_memory().
        """
        notice.used("TS044")
        with short_traceback:
            self._call(control.unregister_all)

    def get_shared_memory_status(self) -> SharedMemoryStatus:
        """Return the regions that are registered with the server.

        Deprecated [TS045], see ``tritonclient-shim guide system-shared-memory``. Instead:
        client.get_system_shared_memory_status(), get_cuda_shared_memory_status().

        Returns
        -------
        SharedMemoryStatus
            v1's message. ``shared_memory_region`` has one entry per name, sorted by name, with
            ``byte_size`` and either ``system_shared_memory`` or ``cuda_shared_memory``.
        """
        notice.used("TS045")
        with short_traceback:
            return self._call(control.regions, keep_id=True)
