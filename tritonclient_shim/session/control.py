"""The calls that are no inference: health, status, repository, model control, shared memory.

Each takes the id of the legacy call and raises InferenceServerException, nothing else. A verbose
session prints what v1 itself printed (docs/v1-behaviour.md §10.2), without libcurl's trace of HTTP
connections: there is no libcurl.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from functools import partial
from typing import Callable, ContextManager, Iterable, Iterator, Mapping, Sequence, TypeVar

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.concurrency import forks
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    ServerError,
    shown_cause,
)
from tritonclient_shim.core.model import (
    Endpoint,
    IndexRow,
    ModelConfigDocument,
    ModelStatistics,
    ServerMetadata,
    ServerSnapshot,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.protos import server_status_pb2 as pb
from tritonclient_shim.servers.dialects import dialect_of
from tritonclient_shim.servers.triton_sentences import Meaning, says
from tritonclient_shim.session import models
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.settings import Settings
from tritonclient_shim.settings.models import DeclaredModel
from tritonclient_shim.shm.regions import CUDA, SYSTEM, Region, RegionError, lookup
from tritonclient_shim.translate.status import (
    free_spelling,
    to_index,
    to_regions,
    to_status,
    tracked_rows,
)
from tritonclient_shim.translate.to_v1 import RequestContext

_T = TypeVar("_T")

NO_STATUS = "status request did not return status"
NO_CONTROL_STATUS = "modelcontrol request did not return status"
NO_HEALTH_STATUS = "health request did not return status"
NO_REGION_STATUS = "sharedmemorycontrol request did not return status"

_INDEX = ("model_repository", "ask for the status of a model by its name")
_LOADING = ("model_repository", "have the server's owner load and unload its models")
_REGIONS = ("system_shared_memory", "pass tensors in requests, as arrays")

#: Seconds that unregistering waits for requests that use the region.
PATIENCE = 10.0

#: One registration at a time per server: a key is spelled by what the server has already.
_registering: dict[Endpoint, forks.Lock] = {}

#: When this process first heard of each server: v2 does not tell when one started.
_first_seen: dict[Endpoint, int] = {}


def health(session: ServerSession, mode: str, request_id: int) -> bool:
    """Return True if the server is ``live``, or if it is ``ready`` as every model that it tracks
    (docs/v1-behaviour.md §6.1, §E.2).
    """
    rules = session.endpoint.rules
    try:
        healthy = session.backend.live() if mode == "live" else session.backend.ready()
    except BackendError as backend_error:
        # Over HTTP every answer but 200, of whatever server, meant False
        # (docs/v1-behaviour.md §6.1).
        replied = isinstance(backend_error, (ServerError, ForeignError))
        if not (replied and rules.error_is_unhealthy):
            error = session.to_v1_error(backend_error, request_id, NO_HEALTH_STATUS)
            raise error from shown_cause(backend_error)
        healthy = False
    if session.verbose and rules.prints_health:
        print(f"{mode}: {int(healthy)}")
    return healthy


def server_status(session: ServerSession, model_name: str, request_id: int) -> pb.ServerStatus:
    """Return the status of the server with one model, or with all it tracks when the name is ''.

    Raises InferenceServerException for a model the server does not track
    (docs/v1-behaviour.md §6.2).
    """
    with session.guard(request_id, NO_STATUS):
        status = read(to_status, status_snapshot(session, model_name))
    if model_name and model_name not in status.model_status:
        unknown = f"no status available for unknown model '{model_name}'"
        raise session.server_error(unknown, request_id)
    if session.verbose:
        print(status)
    return status


def status_snapshot(session: ServerSession, model_name: str = "") -> ServerSnapshot:
    """Ask a v2 server everything ``ServerStatus`` has room for. Raises BackendError.

    ``uptime_ns`` is the time since this process first saw the server; it grows from call to
    call (docs/v1-behaviour.md §E.11).
    """
    backend = session.backend
    metadata = backend.server_metadata()
    now = time.perf_counter_ns()
    uptime_ns = max(1, now - _first_seen.setdefault(session.endpoint, now))
    names: Sequence[str] = ()
    try:
        index = backend.repository_index()
    except ServerError:
        # it failed to start, but still tells its name (docs/v1-behaviour.md §E.12)
        if not backend.live():
            return ServerSnapshot(metadata, live=False, uptime_ns=uptime_ns)
        if not model_name:
            raise
        index = ()  # a server may keep its repository to itself and still serve a model
    except BackendError as error:
        if not error.no_such_call:
            raise
        index = ()
        names = [*dict(session.settings.models)]  # no others can be asked for
    # nothing if the model is not loaded, or the server has no statistics for us
    statistics: tuple[ModelStatistics, ...] = _if_any(partial(backend.statistics, model_name), ())
    rows = tracked_rows(index, statistics, model_name)
    described = [row.name for row in rows if row.state in ("READY", "LOADING")] or names
    if model_name and not rows:
        described = [model_name]
    configs = _documents(backend, metadata, [*dict.fromkeys(described)], session.settings)
    if configs and not rows:
        rows = _first_versions(backend, configs)
    return ServerSnapshot(metadata, True, uptime_ns, rows, configs, statistics)


def _if_any(ask: Callable[[], _T], otherwise: _T) -> _T:
    """Return the reply to a call; ``otherwise`` if the server refuses it or has no such call."""
    try:
        return ask()
    except BackendError as error:
        if isinstance(error, ServerError) or error.no_such_call:
            return otherwise
        raise


def _documents(
    backend: Backend, server: ServerMetadata, names: Sequence[str], settings: Settings
) -> Mapping[str, ModelConfigDocument]:
    """Return the configurations of several models, or what their metadata tell in their place.

    Models that the server refuses to describe are left out.
    """
    configs: Mapping[str, ModelConfigDocument] = _if_any(partial(backend.model_configs, names), {})
    declared = [settings.declared(name) or DeclaredModel(name) for name in names]
    return configs or dialect_of(server).documents(backend, declared)


def _first_versions(backend: Backend, names: Iterable[str]) -> tuple[IndexRow, ...]:
    """Return rows of served models that neither index nor statistics have, as with PyTriton."""
    rows = []
    for name in names:
        try:
            backend.model_config(name, "1")
            rows.append(IndexRow(name, "1", "READY"))
        except ServerError:
            continue
        except BackendError as error:
            if not error.no_such_call:
                raise
            rows.append(IndexRow(name, "", "READY"))
    return tuple(rows)


def repository_index(session: ServerSession, request_id: int) -> pb.ModelRepositoryIndex:
    """Return the names of all models in the server's repositories, loaded or not
    (docs/v1-behaviour.md §6.3).
    """
    with session.guard(request_id, NO_STATUS, needs=_INDEX):
        index = read(to_index, session.backend.repository_index())
    if session.verbose:
        print(index)
    return index


def load(session: ServerSession, model_name: str, request_id: int) -> None:
    """Load or reload a model; returns when it is ready (docs/v1-behaviour.md §6.4)."""
    with _changing(session, model_name, request_id):
        session.backend.load(model_name)


def unload(session: ServerSession, model_name: str, request_id: int) -> None:
    """Start to unload a model; an unknown one succeeds (docs/v1-behaviour.md §6.4).

    v1 returned once no version took new requests, while versions may still have been
    finishing old ones. That is when a v2 server answers: its versions are then UNLOADING
    or UNAVAILABLE, and it refuses by itself, in v1's words, when one stayed available.
    """
    with _changing(session, model_name, request_id):
        session.backend.unload(model_name)


@contextmanager
def _changing(session: ServerSession, model_name: str, request_id: int) -> Iterator[None]:
    # docs/v1-behaviour.md §9.1: over HTTP the name was one part of a path, which else matched
    # nothing.
    if session.endpoint.rules.names_in_paths and (not model_name or "/" in model_name):
        raise InferenceServerException(NO_CONTROL_STATUS)
    try:
        with session.guard(request_id, NO_CONTROL_STATUS, RequestContext(model_name), _LOADING):
            yield
    finally:
        models.note_load()


# ------------------------------------------------ shared memory (docs/v1-behaviour.md §6.5)


def guard_regions(session: ServerSession, request_id: int) -> ContextManager[None]:
    """Raise a BackendError of the block as InferenceServerException."""
    return session.guard(request_id, NO_REGION_STATUS, needs=_REGIONS)


def register(session: ServerSession, handle: object, request_id: int) -> None:
    """Register the system region behind a handle under its name."""
    region = _region(handle, SYSTEM)
    if session.endpoint.rules.names_in_paths:
        _check_http_path(region.name, region.key)
    with guard_regions(session, request_id):
        register_system(session.backend, region.name, region.key, region.byte_size)


def register_system(backend: Backend, name: str, key: str, byte_size: int, offset: int = 0) -> None:
    """Register a shared-memory object, also one with other names; raise BackendError."""
    if offset:
        server = backend.server_metadata()
        dialect_of(server).check_offset(server, name, byte_size, offset)
    with _registering.setdefault(backend.endpoint, forks.Lock()).lock:
        taken = [region.key for region in backend.shm_status()]
        backend.register_system(name, free_spelling(key, taken), byte_size, offset)


def cuda_register(session: ServerSession, handle: object, request_id: int) -> None:
    """Register the CUDA region behind a handle under its name."""
    region = _region(handle, CUDA)
    with guard_regions(session, request_id):
        session.backend.register_cuda(
            region.name, region.raw_handle, region.device_id, region.byte_size
        )


def unregister(session: ServerSession, handle: object, request_id: int) -> None:
    """Unregister the name of a handle's region, of either kind; an unknown one succeeds."""
    unregister_name(session, _region(handle).name, request_id)


def unregister_name(session: ServerSession, name: str, request_id: int) -> None:
    """Unregister one name, of either kind, as soon as it is out of use."""
    with guard_regions(session, request_id):
        _once_unused(partial(session.backend.unregister, name))


def unregister_all(session: ServerSession, request_id: int) -> None:
    """Unregister every region of the server, also those that others have registered."""
    with guard_regions(session, request_id):
        _once_unused(session.backend.unregister_all)


def regions(session: ServerSession, request_id: int) -> pb.SharedMemoryStatus:
    """Return every region that the server knows."""
    with guard_regions(session, request_id):
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
        return lookup(handle, kind)
    except RegionError as error:
        raise InferenceServerException(str(error)) from shown_cause(error)


def _check_http_path(name: str, key: str) -> None:
    # docs/v1-behaviour.md §6.5: name and key were parts of a URL, which had to match; gRPC had no
    # such limit. Names with a slash work all the same.
    if name and key.startswith("/") and "/" not in key[1:]:
        return
    raise InferenceServerException(NO_REGION_STATUS) from RegionError(
        "over HTTP a shared memory region needs a name, and a key with one slash, at its "
        f"beginning, but these are {name!r} and {key!r}: create it so, or register it over gRPC"
    )
