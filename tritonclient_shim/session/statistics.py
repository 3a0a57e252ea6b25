"""What ``InferContext.get_stat`` counts (docs/v1-behaviour.md §4.6)."""

from __future__ import annotations

import threading
from time import perf_counter_ns

from tritonclient_shim.core import forks


class ContextStat:
    """Counters of one context; times in nanoseconds, summed over completed requests.

    Send time is what building and handing over requests took, receive time what reading
    replies into results took; the time in between is the server's and the network's.
    """

    def __init__(self) -> None:
        self.after_fork()
        forks.repair(self)
        self._counts = (0, 0, 0, 0)

    def after_fork(self) -> None:
        """Begin with a lock that nobody holds, in a forked child too."""
        self._lock = threading.Lock()  # every request takes it: cheaper than a forks.Lock

    def add(self, started: int, send_ns: int, received: int | None) -> None:
        """Count a request that is completed now; ``received`` is None if nothing is read."""
        now = perf_counter_ns()
        read_ns = 0 if received is None else now - received
        with self._lock:
            completed, total, send, receive = self._counts
            self._counts = (completed + 1, total + now - started, send + send_ns, receive + read_ns)

    def as_dict(self) -> dict[str, int]:
        """The four counters under v1's names."""
        completed, total, send, receive = self._counts
        return {
            "completed_request_count": completed,
            "cumulative_total_request_time_ns": total,
            "cumulative_send_time_ns": send,
            "cumulative_receive_time_ns": receive,
        }
