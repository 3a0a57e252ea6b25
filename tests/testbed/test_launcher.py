"""Servers start where nobody listens, and leave nothing behind however they end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from testbed import ServerFailed, TritonServer, process, repository
from tests.testbed.traces import Traces

START = """
import os, signal, sys
sys.path.append(sys.argv[1])
from testbed import TritonServer
server = TritonServer.start(["simple"])
"""
REPOSITORY_ROOT = str(Path(process.__file__).parents[1])


def ask(server: TritonServer, path: str) -> Any:
    """The JSON answer to a GET (a POST for the repository index)."""
    connection = http.client.HTTPConnection(server.http, timeout=30)
    connection.request("POST" if path.endswith("index") else "GET", path)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def script(text: str) -> subprocess.Popen[str]:
    """A Python process that starts a server and goes on with ``text``."""
    if os.environ.get("TESTBED_WITHOUT_SERVER"):
        pytest.skip("needs a server, and TESTBED_WITHOUT_SERVER is set")
    command = [sys.executable, "-c", START + text, REPOSITORY_ROOT]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def test_stop_leaves_nothing() -> None:
    """After stop() the processes, the shared-memory files and the folder are gone."""
    server = TritonServer.start(["simple", "slow"])
    traces = Traces.of(server)
    assert len(traces.present()) > 5, "the server, its models, their memory and the folder"
    server.stop()
    assert traces.present() == []


def test_kill_leaves_nothing() -> None:
    """After kill() neither."""
    server = TritonServer.start(["simple"])
    traces = Traces.of(server)
    server.kill()
    assert traces.present() == []


def test_crash_leaves_nothing(start_triton: Callable[..., TritonServer]) -> None:
    """A server that dies by itself is cleaned up after without being asked."""
    server = start_triton(["simple"])
    traces = Traces.of(server)
    os.kill(server.pid, signal.SIGKILL)
    assert traces.gone_within(20)


def test_stop_twice_is_harmless(start_triton: Callable[..., TritonServer]) -> None:
    """stop() and kill() after stop() do nothing."""
    server = start_triton([])
    server.stop()
    server.stop()
    server.kill()
    assert not server.running


def test_killed_parent_takes_the_server_along() -> None:
    """SIGKILL of the process that started the server ends the server."""
    report = "import json; from tests.testbed.traces import Traces; t = Traces.of(server)\n"
    report += "print(json.dumps([t.group, t.folder, t.prefix]), flush=True); sys.stdin.read()\n"
    with script(report) as parent:
        assert parent.stdout is not None
        traces = Traces(*json.loads(parent.stdout.readline()))
        present = traces.present()
        parent.kill()
    assert present
    assert traces.gone_within(20)


def test_forked_child_neither_ends_nor_keeps_the_server() -> None:
    """A fork's exit leaves the server running, and a living fork does not delay its stop."""
    text = """
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(server.running, flush=True)
child = os.fork()
if child == 0:
    signal.pause()
server.stop()
print(server.running, flush=True)
os.kill(child, signal.SIGKILL)
"""
    with script(text) as parent:
        output, _ = parent.communicate(timeout=60)
    assert output.split() == ["True", "False"]


def test_failed_start_shows_the_log() -> None:
    """A server that ends while starting is reported with what it wrote."""
    with pytest.raises(ServerFailed, match="this model always fails to load"):
        TritonServer.start(["broken"])


def test_failed_start_names_full_shared_memory(tmp_path: Path) -> None:
    """Where /dev/shm has no room for a model, the first line says so and what to do."""
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\necho \"Unable to initialize shared memory key 'k'\"\n")
    server.chmod(0o755)
    started = process.Process([str(server)], dict(os.environ), str(tmp_path), "none")
    with pytest.raises(ServerFailed, match="/dev/shm is full.*--shm-size=1g"):
        started.wait_until_ready(1, ["never"])


def test_taken_ports_are_tried_again(
    start_triton: Callable[..., TritonServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that somebody takes in between costs another attempt, on either protocol."""
    choose = process.free_ports
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answers = [(choose()[0], port), choose()]
        monkeypatch.setattr(process, "free_ports", lambda: answers.pop(0))
        server = start_triton([])
    assert answers == []
    assert ask(server, "/v2")["name"] == "triton"


def test_listens_on_loopback_only(start_triton: Callable[..., TritonServer]) -> None:
    """Both services are bound to 127.0.0.1, and nothing else is."""
    server = start_triton([])
    started = [line for line in server.log.splitlines() if "Started " in line]
    assert len(started) == 2
    assert all(" at 127.0.0.1:" in line for line in started)


def test_addresses_by_protocol(triton: TritonServer) -> None:
    """url() takes v1's numbers and the names."""
    assert triton.url(0) == triton.url("http") == triton.http
    assert triton.url(1) == triton.url("grpc") == triton.grpc


def test_server_id_and_flags(start_triton: Callable[..., TritonServer]) -> None:
    """server_id is what the server calls itself; extra_args reach it."""
    server = start_triton([], server_id="legacy-7", extra_args=["--strict-readiness=false"])
    assert ask(server, "/v2")["name"] == "legacy-7"
    assert re.search(r"strict_readiness +\| 0", server.log)


def test_without_explicit_control(start_triton: Callable[..., TritonServer]) -> None:
    """In control mode none the repository holds the chosen models, and they are served."""
    server = start_triton(["simple", "spare"], model_control_mode="none")
    index = ask(server, "/v2/repository/index")
    assert {one["name"]: one["state"] for one in index} == {"simple": "READY", "spare": "READY"}


def test_explicit_control_knows_the_rest(start_triton: Callable[..., TritonServer]) -> None:
    """Under explicit control the other models are there to be loaded."""
    index = ask(start_triton(["simple"]), "/v2/repository/index")
    assert {one["name"] for one in index if one.get("state") == "READY"} == {"simple"}
    assert {"spare", "broken", "classify"} <= {one["name"] for one in index}


def test_own_repository(start_triton: Callable[..., TritonServer], tmp_path: Path) -> None:
    """A repository of the caller's is served whole and survives the server."""
    repository.write(tmp_path, ["spare"])
    server = start_triton(repository=tmp_path)
    assert [one["name"] for one in ask(server, "/v2/repository/index")] == ["spare"]
    server.stop()
    assert (tmp_path / "spare" / "config.pbtxt").exists()
