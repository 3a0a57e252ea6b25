"""The floor of the benchmarks: echoes over loopback whose processes never outlive their row."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Callable

import pytest

from benchmarks.floor import ROOT, Echo, Pipeline, Region

MAKERS: dict[str, Callable[[ExitStack], Echo]] = {
    "large": lambda closing: Echo(3_000_000, 5_000_000, closing),
    "nothing back": lambda closing: Pipeline(1, 1, 1, closing),
    # more than both sockets hold: sending all before receiving would stand still
    "pipeline": lambda closing: Pipeline(4_000, 4_000, 10_000, closing),
}


@pytest.mark.parametrize("name", MAKERS)
def test_echo_repeats(name: str) -> None:
    """Every call moves all its bytes, so that the next finds the connection clean."""
    with ExitStack() as closing:
        echo = MAKERS[name](closing)
        for _ in range(2):
            echo.call()
        echo._socket.settimeout(0.05)
        with pytest.raises(socket.timeout):
            echo._socket.recv(1)
    assert echo.process.returncode == 0


def test_region_repeats() -> None:
    """The floor of shared memory copies in, sends a message, and copies out."""
    with ExitStack() as closing:
        region = Region(1000, closing)
        region._values[:] = 5
        region.call()
        assert (region._given == 5).all()


def test_a_failing_row_ends_the_process() -> None:
    """When the benchmark fails half-way, the other process has ended before anything else."""
    with pytest.raises(ZeroDivisionError), ExitStack() as closing:
        echo = Echo(10, 10, closing)
        echo.call()
        raise ZeroDivisionError
    assert echo.process.returncode == 0


def test_the_end_of_the_other_process_is_an_error() -> None:
    """A call fails, and does not wait for ever, when the other process has been killed."""
    with ExitStack() as closing:
        echo = Echo(10, 10, closing)
        echo.process.kill()
        echo.process.wait(10)
        with pytest.raises(ConnectionError):
            echo.call()


def test_a_killed_benchmark_leaves_no_process() -> None:
    """The other process ends even when the benchmark is killed and can close nothing."""
    program = (
        "import sys; from contextlib import ExitStack; from benchmarks.floor import Echo\n"
        "echo = Echo(10, 10, ExitStack()); echo.call()\n"
        "print(echo.process.pid, flush=True); sys.stdin.read()"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    with started:
        assert started.stdout is not None
        other = int(started.stdout.readline())
        os.kill(other, 0)  # it is there
        started.send_signal(signal.SIGKILL)
        # the other process has this pipe too: it reads as ended when both are gone
        assert started.stdout.read() == b""
