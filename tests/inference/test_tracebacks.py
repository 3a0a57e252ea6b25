"""Uncaught errors of legacy calls: one traceback, as v1's, with the user's line."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Iterator

import pytest

from tests.cli.cli_scripts import python

NAMES = ("http", "grpc")
CALLS = {
    "unknown model": "InferContext(url, protocol, 'nope')",
    "unknown output": "InferContext(url, protocol, 'simple').run(inputs, {'NOPE': RAW})",
    "refused by the server": "ModelControlContext(url, protocol).load('nope')",
    "refused asynchronously": "context = InferContext(url, protocol, 'simple'); "
    "context.get_async_run_results(context.async_run(inputs, {'NOPE': RAW}), True)",
    "bad shape": "InferContext(url, protocol, 'simple').run({**inputs, 'INPUT1': "
    "[np.zeros(3, np.int32)]}, {'OUTPUT0': RAW})",
    "no url": "ServerHealthContext(None, protocol)",
    "closed": "context = InferContext(url, protocol, 'simple'); context.close(); "
    "context.run(inputs, {'OUTPUT0': RAW})",
    "wrong type": "InferContext(url, protocol, 'simple').run(inputs, {'OUTPUT0': RAW}, 'x')",
}
SCRIPT = """\
import sys
import numpy as np
from tensorrtserver.api import *
url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
RAW = InferContext.ResultFormat.RAW
inputs = {name: [np.zeros(16, np.int32)] for name in ("INPUT0", "INPUT1")}
"""
CAUSE = "The above exception was the direct cause"


@pytest.fixture
def nobody() -> Iterator[str]:
    """Yield an address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def traceback(folder: Path, call: str, url: str, protocol: str, *options: str) -> str:
    """Return the stderr of a script that ends with this call."""
    (folder / "old.py").write_text(f"{SCRIPT}{call}\n")
    done = python(folder, *options, "old.py", url, protocol, TRITON_SHIM_WARNINGS="off")
    assert done.returncode == 1
    return str(done.stderr)


def frames_of_ours(shown: str) -> list[str]:
    """Return the lines of a traceback that name a file of this package."""
    lines = [line for line in shown.splitlines() if line.startswith('  File "')]
    return [line for line in lines if "/tensorrtserver/" in line or "/tritonclient_shim/" in line]


@pytest.mark.parametrize(("number", "call"), enumerate(CALLS.values()), ids=CALLS)
def test_refused_calls(tmp_path: Path, triton: Any, number: int, call: str) -> None:
    """A refusal shows one traceback: the line of the call, one frame of ours, v1's message."""
    protocol = number % 2
    shown = traceback(tmp_path, call, triton.url(protocol), NAMES[protocol])
    assert shown.count("Traceback") == 1
    assert 'old.py", line 7, in <module>' in shown
    assert len(frames_of_ours(shown)) == 1
    assert shown.splitlines()[-1].startswith(("tensorrtserver.api.Inference", "ctypes.Argument"))


@pytest.mark.parametrize("protocol", NAMES)
def test_no_server(tmp_path: Path, nobody: str, protocol: str) -> None:
    """A connection that fails shows one traceback, v1's message and where to look."""
    shown = traceback(tmp_path, CALLS["unknown model"], nobody, protocol)
    assert shown.count("Traceback") == 1
    assert 'old.py", line 7, in <module>' in shown
    assert len(frames_of_ours(shown)) == 1
    assert f"InferenceServerException: [ 0] {protocol.upper()} client failed: " in shown


@pytest.mark.parametrize("protocol", NAMES)
def test_development_mode_shows_the_cause(tmp_path: Path, nobody: str, protocol: str) -> None:
    """``python -X dev`` shows the errors below, down to the network's error."""
    shown = traceback(tmp_path, CALLS["unknown model"], nobody, protocol, "-X", "dev")
    assert CAUSE in shown
    assert "Connection refused" in shown
