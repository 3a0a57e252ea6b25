"""SharedMemoryControlContext: which shared-memory regions a server knows
(docs/v1-behaviour.md §6.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tensorrtserver.api._lazy_imports import shared_memory
from tensorrtserver.api._server_context import HttpHeaders, ServerContext
from tritonclient_shim import notice
from tritonclient_shim.shm.handles import Handle

if TYPE_CHECKING:
    from tritonclient_shim.protos.server_status_pb2 import SharedMemoryStatus
    from tritonclient_shim.session.server import ServerSession


class SharedMemoryControlContext(ServerContext):
    """Registers shared-memory regions with a server, for use by inference
    (docs/v1-behaviour.md §6.5).

    Deprecated [TS040], see migration_guide.md#system-shared-memory. Instead:
    tritonclient.grpc.InferenceServerClient(url) on gRPC,
    tritonclient.http.InferenceServerClient(url) over HTTP.

    Parameters
    ----------
    url : str or bytes
        The server, such as ``localhost:8000``; a scheme is accepted.
    protocol : ProtocolType or int
        How to speak to it.
    verbose : bool
        Print every status: on stdout over HTTP, on stderr over gRPC (docs/v1-behaviour.md §10.2).
    http_headers : sequence of str or bytes
        ``"Name:Value"`` entries sent with every HTTP request (docs/v1-behaviour.md §6.6).
    """

    _notice_id = "TS040"
    _closed_name = "SharedMemoryControlContext"

    def __init__(
        self,
        url: str | bytes,
        protocol: int,
        verbose: bool = False,
        http_headers: HttpHeaders = [],  # noqa: B006 - v1's signature; never changed
    ) -> None:
        self._open(url, protocol, verbose, http_headers)

    def register(self, shm_handle: Handle) -> None:
        """Register a system shared-memory region under its name.

        Deprecated [TS041], see migration_guide.md#system-shared-memory. Instead:
        client.register_system_shared_memory(name, key, byte_size).

        Any number of names may share one key.

        Parameters
        ----------
        shm_handle : ctypes.c_void_p
            Handle from ``tensorrtserver.shared_memory.create_shared_memory_region``.

        Raises
        ------
        InferenceServerException
            The name is registered already, the server cannot open the key (it runs on another
            machine, or the region is destroyed), over HTTP the key is not of the form
            ``/name``, or `shm_handle` is no handle of a system region.
        """
        notice.used("TS041")
        self._control(shared_memory.register, shm_handle)

    def cuda_register(self, cuda_shm_handle: Handle) -> None:
        """Register a CUDA shared-memory region under its name.

        Deprecated [TS042], see migration_guide.md#cuda-shared-memory. Instead:
        client.register_cuda_shared_memory(name, raw_handle, device_id, byte_size).

        Parameters
        ----------
        cuda_shm_handle : ctypes.c_void_p
            Handle from ``tensorrtserver.cuda_shared_memory.create_shared_memory_region``.

        Raises
        ------
        InferenceServerException
            The name is registered already, the server cannot open the memory, or
            `cuda_shm_handle` is no handle of a CUDA region.
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
            The region's handle. A region that is not registered succeeds.

        Raises
        ------
        InferenceServerException
            The region is in use, or `shm_handle` is no handle.
        """
        notice.used("TS043")
        self._control(shared_memory.unregister, shm_handle)

    def unregister_all(self) -> None:
        """Unregister every region of the server, whoever registered it.

        Deprecated [TS044], see migration_guide.md#system-shared-memory. Instead:
        client.unregister_system_shared_memory() and unregister_cuda_shared_memory().

        Raises
        ------
        InferenceServerException
            A region is in use, or no inference server answers.
        """
        notice.used("TS044")
        self._call(shared_memory.unregister_all, keep_id=False)

    def get_shared_memory_status(self) -> SharedMemoryStatus:
        """The regions that the server knows.

        Deprecated [TS045], see migration_guide.md#system-shared-memory. Instead:
        client.get_system_shared_memory_status(), get_cuda_shared_memory_status().

        Returns
        -------
        SharedMemoryStatus
            v1's message: ``shared_memory_region`` has an entry per name, sorted, with its size
            in bytes and either ``system_shared_memory`` or ``cuda_shared_memory``.

        Raises
        ------
        InferenceServerException
            The server refuses, or no inference server answers.
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
