"""Processes whose threads gevent or eventlet has replaced by greenlets.

gRPC waits in C code, where it blocks all greenlets. Each stream needs one that waits for replies
and one that sends requests, so a stream hangs there. gRPC has a way to wait for gevent, and none
for eventlet.
"""

from __future__ import annotations

import sys

from grpc.experimental import gevent as grpc_gevent

from tritonclient_shim.backends.grpc.errors import StatusCode, transport_error

_NO_STREAMS = (
    "A gRPC stream hangs in a process whose threads eventlet has replaced; expected real threads; "
    "call eventlet.monkey_patch(thread=False), or use gevent, or a context without streaming"
)
_prepared = False


def eventlet_has_threads() -> bool:
    """True if eventlet has replaced the threads of this process by greenlets."""
    patcher = sys.modules.get("eventlet.patcher")
    return patcher is not None and bool(patcher.is_monkey_patched("thread"))


def _gevent_has_threads() -> bool:
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


def prepare_grpc() -> None:
    """Let gRPC wait in gevent's way, if gevent has replaced the threads of this process.

    This acts on all of gRPC in the process. There all of it needs this, and it may be repeated.
    """
    global _prepared
    if not _prepared and _gevent_has_threads():
        _prepared = True
        grpc_gevent.init_gevent()


def prepare_stream() -> None:
    """Prepare gRPC for a stream. Raise TransportError where the stream would hang."""
    prepare_grpc()
    if eventlet_has_threads():
        raise transport_error(StatusCode.FAILED_PRECONDITION, _NO_STREAMS)
