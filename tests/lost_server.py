"""Restarts the server of the whole run when a signal has ended it, and repeats the test.

Triton 2.51 can end with signal 11 (docs/v2-mapping.md §10). Without a restart all later tests
would fail. No test is repeated for another reason, and a warning reports each restart.
"""

from __future__ import annotations

import time
import urllib.request
from contextlib import contextmanager
from typing import Iterator

import pytest
from _pytest.runner import runtestprotocol

from testbed import TritonServer

_LOG_LINES = 30
_PATIENCE = 10.0  # seconds that a process may take to end after a signal
_watched: list[TritonServer] = []


@contextmanager
def watched(server: TritonServer) -> Iterator[TritonServer]:
    """Restart this server whenever a signal has ended it during a test."""
    _watched.append(server)
    try:
        yield server
    finally:
        _watched.remove(server)


def is_alive(server: TritonServer) -> bool:
    """True if a server answers. A dying process may still accept connections."""
    time.sleep(1.0)  # a process may need this time to end after a signal
    try:
        urllib.request.urlopen(f"http://{server.http}/v2/health/live", timeout=10).close()
    except OSError:
        return False
    return True


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test; run it once more if a signal has ended the server."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports) and _replaced(item):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _replaced(item: pytest.Item) -> bool:
    """Restart each server that a signal has ended. Return True if there was one."""
    lost = [server for server in _watched if not is_alive(server) and _signal(server)]
    for server in lost:
        end = "\n".join(server.log.splitlines()[-_LOG_LINES:])
        text = (
            f"Triton ended with signal {_signal(server)} in {item.nodeid}. It was started again, "
            f"and the test was run again. The end of its log:\n{end}"
        )
        item.warn(pytest.PytestWarning(text))
        server.start_again()
    return bool(lost)


def _signal(server: TritonServer) -> int:
    """Return the signal that has ended a server; 0 if it runs, or has ended without a signal."""
    deadline = time.monotonic() + _PATIENCE
    while server.running and time.monotonic() < deadline:
        time.sleep(0.1)
    return server.ended_by
