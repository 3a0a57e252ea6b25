"""gRPC and forks: a fork waits for the calls under way, and a child counts what it interrupted.

gRPC skips its fork handlers while a thread is inside a call. A child of such a fork may hang or
crash (docs/processes.md). This module needs no gRPC.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet

from tritonclient_shim.concurrency import forks

#: Seconds that a fork waits for the calls under way, and that a new call waits for a fork.
PATIENCE = 5.0


class Pausable(Protocol):
    """An object whose threads may be inside gRPC at any time: a stream."""

    def before_fork(self) -> None:
        """Begin to end the threads. The caller has seen that no call is under way."""

    def ends_within(self, timeout: float) -> bool:
        """True if the threads end within ``timeout`` seconds."""


_pausable: WeakSet[Pausable] = WeakSet()


def pause(stream: Pausable) -> None:
    """Pause the stream before each fork of a process that uses gRPC."""
    _pausable.add(stream)


class Call:
    """A call under way, of a thread; 0 after :meth:`detach`."""

    __slots__ = ("thread",)
    thread: int

    def detach(self) -> None:
        """Let the thread go on, while the call does."""
        self.thread = 0


class CallGate:
    """Keep calls and forks apart: a fork waits for the calls under way, new calls for the fork.

    No wait is longer than :data:`PATIENCE`.
    """

    def __init__(self) -> None:
        self._guarded = False
        #: Calls and streams that had not ended when this process was forked.
        self.interrupted = 0
        #: True if the fork that interrupted them waited for them.
        self.has_waited = True
        #: True if gRPC has sent for this process with threads of its own, which may be in its code.
        self._has_used_threads = False
        self._sockets: list[int] = []  # those of the process before the last fork
        self._reset()

    def _reset(self) -> None:
        self._calls: set[Call] = set()
        self._forks = 0
        self._unpaused = 0  # streams that did not pause for the last fork
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    def guard_forks(self) -> None:
        """Make the forks of this process wait. Call it when gRPC has registered its handlers.

        Handlers run in reverse order. gRPC's first handler counts the threads inside gRPC.
        """
        if not self._guarded and hasattr(os, "register_at_fork"):
            self._guarded = True
            os.register_at_fork(
                before=self._before,
                after_in_parent=self._after_in_parent,
                after_in_child=self._after_in_child,
            )

    def enter(self, asynchronous: bool = False) -> Call:
        """Begin a call, after a fork that is being made. End it with :meth:`leave`.

        ``asynchronous`` calls and streams are sent and answered on gRPC's own threads.
        """
        if os.getpid() != forks.process:  # what forks.notice() asks, without a call
            forks.notice()
        if asynchronous:
            self._has_used_threads = True
        call = Call()
        call.thread = threading.get_ident()
        self._calls.add(call)
        # first this call, then the look for a fork: a fork does it the other way round
        if self._forks and not self._is_nested(call):
            self.leave(call)
            with self._lock:
                self._changed.wait_for(lambda: not self._forks, PATIENCE)
            self._calls.add(call)
        return call

    def _is_nested(self, call: Call) -> bool:
        """True if the thread is inside another call: the fork waits for that one."""
        return any(other.thread == call.thread and other is not call for other in list(self._calls))

    def leave(self, call: Call) -> None:
        """End a call. Ignore one that has ended, or that a parent process began."""
        self._calls.discard(call)
        if self._forks:
            with self._lock:
                self._changed.notify_all()

    def _under_way(self) -> int:
        """Return the number of calls, except those of this thread, which forks inside them."""
        me = threading.get_ident()
        return sum(call.thread != me for call in list(self._calls))

    def _before(self) -> None:
        with self._lock:
            self._forks += 1
            quiet = self._changed.wait_for(lambda: not self._under_way(), PATIENCE)
        self._unpaused = _pause_all() if quiet else 0
        self._sockets = _sockets()

    def _after_in_parent(self) -> None:
        with self._lock:
            self._forks -= 1
            self._changed.notify_all()

    def after_fork(self) -> None:
        """Count in a forked child what the fork has interrupted, before streams forget it."""
        has_waited = self._forks > 0
        unpaused = self._unpaused if has_waited else _unpaused(list(_pausable), 0.0)
        interrupted = self._under_way() + unpaused
        if self._has_used_threads and not has_waited:
            interrupted += 1  # nobody knows where gRPC's threads were
        if interrupted:
            self.has_waited = has_waited
        self._has_used_threads = False
        self.interrupted += interrupted
        _pausable.clear()  # the streams are the parent's
        self._reset()

    def _after_in_child(self) -> None:
        _occupy(self._sockets)


def _pause_all() -> int:
    """Pause all streams, and return the number of those that did not pause in time."""
    streams = list(_pausable)
    for stream in streams:
        stream.before_fork()
    return _unpaused(streams, PATIENCE)


def _unpaused(streams: list[Pausable], timeout: float) -> int:
    """Return the number of streams that do not end within ``timeout`` seconds."""
    end = time.monotonic() + timeout
    return sum(not stream.ends_within(end - time.monotonic()) for stream in streams)


def _sockets() -> list[int]:
    """Return the file descriptors of this process that are sockets."""
    sockets = []
    with suppress(OSError):  # no such folder, or no descriptor free
        for descriptor in map(int, os.listdir("/dev/fd")):
            with suppress(OSError):  # it is closed by now, as the folder's own
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    sockets.append(descriptor)
    return sockets


def _occupy(sockets: list[int]) -> None:
    """Open the null device in place of each socket that a fork handler has closed.

    gRPC closes inherited sockets in a child. Up to 1.67 at least, an inherited channel may still
    write a ping to the number of its socket. The number must not belong to a new connection, whose
    server would end it for these bytes (docs/v2-mapping.md §10).
    """
    for descriptor in sockets:
        try:
            os.fstat(descriptor)
        except OSError:
            with suppress(OSError):  # no descriptor free: a call may fail, as without this
                null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                if null != descriptor:
                    os.dup2(null, descriptor, inheritable=False)
                    os.close(null)


#: The calls over gRPC of this process.
calls = CallGate()
forks.repair_first(calls)
