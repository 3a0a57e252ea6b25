"""The calls that are no inference: health, status, repository index, load and unload.

Each takes the id of the legacy call and raises InferenceServerException, nothing else.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Iterable, Iterator

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import Fault, ForeignFault, ServerFault, shown_cause
from tritonclient_shim.core.model import HTTP, Endpoint, IndexRow, ModelStatistics, ServerSnapshot
from tritonclient_shim.core.reading import read
from tritonclient_shim.protos import server_status_pb2 as pb
from tritonclient_shim.session import descriptions, models, verbose
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate.status import to_index, to_status, tracked_rows
from tritonclient_shim.translate.wording import RequestContext

NO_STATUS = "status request did not return status"
NO_CONTROL_STATUS = "modelcontrol request did not return status"
NO_HEALTH_STATUS = "health request did not return status"

_REPOSITORY = "model_repository"
_BY_NAME = "ask for the status of a model by its name"

#: When this process first heard of each server: v2 does not tell when one started.
_first_seen: dict[Endpoint, int] = {}


def is_live(session: ServerSession, request_id: int) -> bool:
    """Whether the server is live (docs/v1-behaviour.md §6.1)."""
    return _healthy(session, "live", request_id)


def is_ready(session: ServerSession, request_id: int) -> bool:
    """Whether the server and every model it tracks are ready (docs/v1-behaviour.md §6.1, §E.2)."""
    return _healthy(session, "ready", request_id)


def _healthy(session: ServerSession, mode: str, request_id: int) -> bool:
    answer = _health(session, mode, request_id)
    if session.verbose:
        verbose.health(mode, answer, session.endpoint.protocol)
    return answer


def _health(session: ServerSession, mode: str, request_id: int) -> bool:
    try:
        return session.backend.live() if mode == "live" else session.backend.ready()
    except Fault as fault:
        # Over HTTP every answer but 200, of whatever server, meant False
        # (docs/v1-behaviour.md §6.1).
        if session.endpoint.protocol == HTTP and isinstance(fault, (ServerFault, ForeignFault)):
            return False
        raise session.fault_to_error(fault, request_id, NO_HEALTH_STATUS) from shown_cause(fault)


def server_status(session: ServerSession, model_name: str, request_id: int) -> pb.ServerStatus:
    """The status of the server with one model, or with all it tracks when the name is ''.

    Raises InferenceServerException for a model the server does not track
    (docs/v1-behaviour.md §6.2).
    """
    with session.guard(request_id, NO_STATUS):
        status = read(to_status, status_snapshot(session, model_name))
    if model_name and model_name not in status.model_status:
        unknown = f"no status available for unknown model '{model_name}'"
        raise session.server_error(unknown, request_id)
    if session.verbose:
        verbose.server_status(status)
    return status


def status_snapshot(session: ServerSession, model_name: str = "") -> ServerSnapshot:
    """Ask a v2 server everything ``ServerStatus`` has room for. Raises Fault.

    ``uptime_ns`` is the time since this process first saw the server; it grows from call to
    call (docs/v1-behaviour.md §E.11).
    """
    backend = session.backend
    metadata = backend.server_metadata()
    seen = _first_seen.setdefault(session.endpoint, time.perf_counter_ns())
    names: Iterable[str] = ()
    try:
        index = backend.repository_index()
    except ServerFault:
        # it failed to start, but still tells its name (docs/v1-behaviour.md §E.12)
        if not backend.live():
            return ServerSnapshot(metadata, live=False, uptime_ns=_since(seen))
        if not model_name:
            raise
        index = ()  # a server may keep its repository to itself and still serve a model
    except Fault as fault:
        if not fault.no_such_call:
            raise
        index, names = (), dict(session.settings.models)  # the only ones that can be asked for
    statistics = _statistics(backend, model_name)
    rows = tracked_rows(index, statistics, model_name)
    described = _described(rows, model_name) or list(names)
    configs = descriptions.documents(backend, metadata, described, session.settings)
    if configs and not rows:
        rows = _first_versions(backend, configs)
    return ServerSnapshot(metadata, True, _since(seen), rows, configs, statistics)


def _since(seen: int) -> int:
    return max(1, time.perf_counter_ns() - seen)


def _statistics(backend: Backend, model_name: str) -> tuple[ModelStatistics, ...]:
    """Nothing where the model is not loaded, or the server has no statistics for us."""
    try:
        return backend.statistics(model_name)
    except ServerFault:
        return ()
    except Fault as fault:
        if fault.no_such_call:
            return ()
        raise


def _described(rows: tuple[IndexRow, ...], model_name: str) -> list[str]:
    """The models of which a v2 server gives the configuration."""
    if model_name and not rows:
        return [model_name]
    return list(dict.fromkeys(row.name for row in rows if row.state in ("READY", "LOADING")))


def _first_versions(backend: Backend, names: Iterable[str]) -> tuple[IndexRow, ...]:
    """The rows of served models that neither index nor statistics mention, such as PyTriton's."""
    rows = []
    for name in names:
        try:
            backend.model_config(name, "1")
            rows.append(IndexRow(name, "1", "READY"))
        except ServerFault:
            continue
        except Fault as fault:
            if not fault.no_such_call:
                raise
            rows.append(IndexRow(name, "", "READY"))
    return tuple(rows)


def repository_index(session: ServerSession, request_id: int) -> pb.ModelRepositoryIndex:
    """The names of all models in the server's repositories, loaded or not
    (docs/v1-behaviour.md §6.3).
    """
    with session.guard(request_id, NO_STATUS), session.needing(_REPOSITORY, _BY_NAME):
        index = read(to_index, session.backend.repository_index())
    if session.verbose:
        verbose.repository_index(index)
    return index


def load(session: ServerSession, model_name: str, request_id: int) -> None:
    """Load or reload a model; returns when it is ready (docs/v1-behaviour.md §6.4)."""
    _check_path(session, model_name)
    try:
        with _controlling(session, model_name, request_id):
            session.backend.load(model_name)
    finally:
        models.loaded()


def unload(session: ServerSession, model_name: str, request_id: int) -> None:
    """Start to unload a model; an unknown one succeeds (docs/v1-behaviour.md §6.4).

    v1 returned once no version took new requests, while versions may still have been
    finishing old ones. That is when a v2 server answers: its versions are then UNLOADING
    or UNAVAILABLE, and it refuses by itself, in v1's words, when one stayed available.
    """
    _check_path(session, model_name)
    try:
        with _controlling(session, model_name, request_id):
            session.backend.unload(model_name)
    finally:
        models.loaded()


@contextmanager
def _controlling(session: ServerSession, model_name: str, request_id: int) -> Iterator[None]:
    asked = RequestContext(model_name)
    remedy = "have the server's owner load and unload its models"
    with session.guard(request_id, NO_CONTROL_STATUS, asked), session.needing(_REPOSITORY, remedy):
        yield


def _check_path(session: ServerSession, model_name: str) -> None:
    # docs/v1-behaviour.md §9.1: over HTTP the name was one part of a path, which else matched
    # nothing.
    if session.endpoint.protocol == HTTP and (not model_name or "/" in model_name):
        raise session.client_error(NO_CONTROL_STATUS)
