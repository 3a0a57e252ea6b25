"""SharedMemoryControlContext: registers shared-memory regions with a server
(docs/v1-behaviour.md §6.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tensorrtserver.api._lazy_imports import shared_memory
from tensorrtserver.api._server_context import HttpHeaders, ServerContext
from tritonclient_shim import notice
from tritonclient_shim.shm.handles import Handle

if TYPE_CHECKING:
    from tensorrtserver.api import _types as types
    from tritonclient_shim.protos.server_status_pb2 import SharedMemoryStatus
    from tritonclient_shim.session.server import ServerSession


class SharedMemoryControlContext(ServerContext):
    """Registers shared-memory regions with a server, for inputs and outputs of inference
    (docs/v1-behaviour.md §6.5).

    Making a context sends nothing to the server (docs/v1-behaviour.md §6).

    Deprecated [TS040], see migration_guide.md#system-shared-memory. Instead:
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
        Print each status, over HTTP on stdout and over gRPC on stderr (docs/v1-behaviour.md §10.2).
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

    _notice_id = "TS040"
    _closed_name = "SharedMemoryControlContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: types.ProtocolLike,
        verbose: object = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def register(self, shm_handle: Handle) -> None:
        """Register a system shared-memory region under its name (docs/v1-behaviour.md §6.5).

        Deprecated [TS041], see migration_guide.md#system-shared-memory. Instead:
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
            (over HTTP); `shm_handle` is no handle of a system region; no inference server
            answers; or the context is closed.
        """
        notice.used("TS041")
        self._control(shared_memory.register, shm_handle)

    def cuda_register(self, cuda_shm_handle: Handle) -> None:
        """Register a CUDA shared-memory region under its name (docs/v1-behaviour.md §6.5).

        Deprecated [TS042], see migration_guide.md#cuda-shared-memory. Instead:
        client.register_cuda_shared_memory(name, raw_handle, device_id, byte_size).

        Parameters
        ----------
        cuda_shm_handle : ctypes.c_void_p
            Handle from ``tensorrtserver.cuda_shared_memory.create_shared_memory_region``.

        Raises
        ------
        InferenceServerException
            The name is registered already; the server cannot open the memory, for example because
            it has no GPU; `cuda_shm_handle` is no handle of a CUDA region; no inference server
            answers; or the context is closed.
        """
        notice.used("TS042")
        self._control(shared_memory.cuda_register, cuda_shm_handle)

    def unregister(self, shm_handle: Handle) -> None:
        """Unregister a region of either kind; the region itself stays (docs/v1-behaviour.md §6.5).

        Deprecated [TS043], see migration_guide.md#system-shared-memory. Instead:
        client.unregister_system_shared_memory(name), unregister_cuda_shared_memory(name).

        Parameters
        ----------
        shm_handle : ctypes.c_void_p
            The region's handle. The call succeeds also for a region that is not registered.

        Raises
        ------
        InferenceServerException
            A request keeps using the region, `shm_handle` is no handle, no inference server
            answers, or the context is closed.
        """
        notice.used("TS043")
        self._control(shared_memory.unregister, shm_handle)

    def unregister_all(self) -> None:
        """Unregister all regions of the server, also those of other clients
        (docs/v1-behaviour.md §6.5).

        Deprecated [TS044], see migration_guide.md#system-shared-memory. Instead:
        client.unregister_system_shared_memory() and unregister_cuda_shared_memory().

        Raises
        ------
        InferenceServerException
            A request keeps using a region, no inference server answers, or the context is closed.
        """
        notice.used("TS044")
        self._call(shared_memory.unregister_all, keep_id=False)

    def get_shared_memory_status(self) -> SharedMemoryStatus:
        """The regions that are registered with the server (docs/v1-behaviour.md §6.5).

        Deprecated [TS045], see migration_guide.md#system-shared-memory. Instead:
        client.get_system_shared_memory_status(), get_cuda_shared_memory_status().

        Returns
        -------
        SharedMemoryStatus
            v1's message. ``shared_memory_region`` has one entry per name, sorted by name, with
            ``byte_size`` and either ``system_shared_memory`` or ``cuda_shared_memory``.

        Raises
        ------
        InferenceServerException
            The server refuses, no inference server answers, or the context is closed.
        """
        notice.used("TS045")
        return self._call(shared_memory.status, keep_id=True)

    def _control(
        self, operation: Callable[[ServerSession, object, int], None], handle: object
    ) -> None:
        def bound(session: ServerSession, request_id: int) -> None:
            operation(session, handle, request_id)

        self._call(bound, keep_id=False)


SharedMemoryControlContext.__module__ = "tensorrtserver.api"
