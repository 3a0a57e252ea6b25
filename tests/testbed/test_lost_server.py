"""A server of the whole run that dies costs no test but those that cannot do with another one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest
from testbed import TritonServer
from tests.lost_server import pytest_runtest_protocol, watched

@pytest.fixture(scope="session")
def triton():
    with TritonServer.start(["simple"]) as server, watched(server):
        yield server
"""
TESTS = """
import os, signal, urllib.request

killed = []

def asks(server):
    urllib.request.urlopen(f"http://{server.http}/v2/models/simple/ready", timeout=10).close()

def test_before(triton):
    asks(triton)

def test_that_is_hit(triton):
    if not killed:
        killed.append(triton.pid)
        os.kill(triton.pid, signal.SIGSEGV)
        assert False, "no answer"
    asks(triton)

def test_that_fails(triton):
    asks(triton)
    killed.append(0)
    assert len(killed) != 2, "of itself"

def test_afterwards(triton):
    asks(triton)
"""


def test_lost_server_is_replaced(tmp_path: Path) -> None:
    """The test that met the end runs again, the next ones have a server, and the end is told."""
    if os.environ.get("TESTBED_WITHOUT_SERVER"):
        pytest.skip("needs a server, and TESTBED_WITHOUT_SERVER is set")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    assert done.stdout.count("Triton ended with signal 11 in test_it.py::test_that_is_hit") == 1
    assert "AssertionError: of itself" in done.stdout
