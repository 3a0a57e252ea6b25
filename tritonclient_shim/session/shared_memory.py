"""Shared-memory control: which regions a server knows (docs/v1-behaviour.md §6.5).

Each call takes the id of the legacy call and raises InferenceServerException, nothing else.
"""

from __future__ import annotations

import sys
import time
from typing import Callable, ContextManager

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core import forks
from tritonclient_shim.core.errors import (
    InferenceServerException,
    InvalidRequest,
    ServerError,
    shown_cause,
)
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.core.reading import read
from tritonclient_shim.core.server_sentences import Meaning, says
from tritonclient_shim.protos import server_status_pb2 as pb
from tritonclient_shim.session.server import Extension, ServerSession
from tritonclient_shim.shm import handle_table
from tritonclient_shim.shm.region import CUDA, SYSTEM, Region, RegionError
from tritonclient_shim.translate.status import free_spelling, to_regions

NO_STATUS = "sharedmemorycontrol request did not return status"

#: The first Triton that adds the offset of a region once.
_OFFSETS_ONCE = (2, 61)

#: Seconds that unregistering waits for requests that use the region.
PATIENCE = 10.0

#: One registration at a time per server: a key is spelled by what the server has already.
_registering: dict[Endpoint, forks.Lock] = {}


_REGIONS = Extension("system_shared_memory", "pass tensors in requests, as arrays")


def guard(session: ServerSession, request_id: int) -> ContextManager[None]:
    """Raise a BackendError of the block as InferenceServerException, as every call here does."""
    return session.guard(request_id, NO_STATUS, needs=_REGIONS)


def register(session: ServerSession, handle: object, request_id: int) -> None:
    """Register the system region behind a handle under its name."""
    region = _region(handle, SYSTEM)
    if session.endpoint.rules.names_in_paths:
        _check_http_path(region.name, region.key)
    with guard(session, request_id):
        register_system(session.backend, region.name, region.key, region.byte_size)


def register_system(backend: Backend, name: str, key: str, byte_size: int, offset: int = 0) -> None:
    """Register a shared-memory object, also one with other names; raise BackendError."""
    if offset:
        _check_offset(backend, name, byte_size, offset)
    with _registering.setdefault(backend.endpoint, forks.Lock()):
        taken = [region.key for region in backend.shm_status()]
        backend.register_system(name, free_spelling(key, taken), byte_size, offset)


def _check_offset(backend: Backend, name: str, byte_size: int, offset: int) -> None:
    """Refuse an offset that the server would add twice: inference would read other bytes, or
    memory behind the region, without an error (docs/v2-mapping.md §8).
    """
    server = backend.server_metadata()
    if not server.release or server.release >= _OFFSETS_ONCE:
        return
    message = (
        f"cannot register shared memory region '{name}' at offset {offset}: this server, Triton "
        f"{server.version}, would read and write at twice that offset. Register the object from "
        f"its beginning, with offset 0 and byte size {offset + byte_size}, and add {offset} to the "
        f"offset of each input and output in it; or use Triton {_OFFSETS_ONCE[0]}."
        f"{_OFFSETS_ONCE[1]} or later"
    )
    raise InvalidRequest(message, "UNIMPLEMENTED")


def cuda_register(session: ServerSession, handle: object, request_id: int) -> None:
    """Register the CUDA region behind a handle under its name."""
    region = _region(handle, CUDA)
    with guard(session, request_id):
        session.backend.register_cuda(
            region.name, region.raw_handle, region.device_id, region.byte_size
        )


def unregister(session: ServerSession, handle: object, request_id: int) -> None:
    """Unregister the name of a handle's region, of either kind; an unknown one succeeds."""
    name = _region(handle).name
    with guard(session, request_id):
        unregister_name(session.backend, name)


def unregister_name(backend: Backend, name: str) -> None:
    """Unregister one name, of either kind, as soon as it is out of use; raises BackendError."""
    _once_unused(lambda: backend.unregister(name))


def unregister_all(session: ServerSession, request_id: int) -> None:
    """Unregister every region of the server, also those that others have registered."""
    with guard(session, request_id):
        _once_unused(session.backend.unregister_all)


def status(session: ServerSession, request_id: int) -> pb.SharedMemoryStatus:
    """Return every region that the server knows."""
    with guard(session, request_id):
        message = read(to_regions, session.backend.shm_status())
    if session.verbose:
        to_stderr = session.endpoint.rules.regions_to_stderr
        print(message, file=sys.stderr if to_stderr else sys.stdout)
    return message


def _once_unused(unregister: Callable[[], None]) -> None:
    """Unregister; again, for up to :data:`PATIENCE` seconds, while a request uses the region.

    v1's server never refused. A v2 server does, and lets go of a region only a moment after
    it has sent the answer, so even a script that waits for its results can meet the refusal.
    """
    deadline = time.monotonic() + PATIENCE
    pause = 0.001
    while True:
        try:
            return unregister()
        except ServerError as error:
            if not says(error.message, Meaning.REGION_IN_USE) or time.monotonic() > deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def _region(handle: object, kind: str | None = None) -> Region:
    """Return the region of a handle. v1 crashed at other objects, and took one kind for another."""
    try:
        return handle_table.lookup(handle, kind)
    except RegionError as error:
        raise InferenceServerException(str(error)) from shown_cause(error)


def _check_http_path(name: str, key: str) -> None:
    # docs/v1-behaviour.md §6.5: name and key were parts of a URL, which had to match; gRPC had no
    # such limit. Names with a slash work all the same.
    if name and key.startswith("/") and "/" not in key[1:]:
        return
    raise InferenceServerException(NO_STATUS) from RegionError(
        "over HTTP a shared memory region needs a name, and a key with one slash, at its "
        f"beginning, but these are {name!r} and {key!r}: create it so, or register it over gRPC"
    )
