"""The server of the whole run is started again when it has ended, and the test with it.

Triton 2.51 can end with signal 11 (docs/v2-mapping.md §10). Without this, all tests that come after
would fail with it. Nothing is run again for another reason, and a warning reports it.
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
_PATIENCE = 10.0  # seconds for a process that has been hit to be gone
_watched: list[TritonServer] = []


@contextmanager
def watched(server: TritonServer) -> Iterator[TritonServer]:
    """Start this server again whenever it has ended during a test."""
    _watched.append(server)
    try:
        yield server
    finally:
        _watched.remove(server)


def is_alive(server: TritonServer) -> bool:
    """True if a server answers: a process that is just dying accepts connections, too."""
    time.sleep(1.0)  # for a process that has just been hit
    try:
        urllib.request.urlopen(f"http://{server.http}/v2/health/live", timeout=10).close()
    except OSError:
        return False
    return True


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test; once more if the server has ended in it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports) and _replaced(item):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _replaced(item: pytest.Item) -> bool:
    """Start each server again that a signal has ended → whether there was one."""
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
    """Return the signal that has ended a server; 0 if it runs, or has ended by itself."""
    deadline = time.monotonic() + _PATIENCE
    while server.running and time.monotonic() < deadline:
        time.sleep(0.1)
    return server.ended_by
