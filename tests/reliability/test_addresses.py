"""A server's name that stops resolving, or that resolves to another address."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from tests.own_interpreter import command, environment
from tests.relays import Relay
from tests.reliability.identified_calls import KINDS
from tests.reliability.server_process import MODEL

HOST = "server.invalid"
PATIENCE = 60.0
#: An empty resolv.conf means the name server of this machine, which has none.
MOUNT = 'mount --bind hosts /etc/hosts && mount --bind /dev/null /etc/resolv.conf && exec "$@"'
PROGRAM = """
import sys
import numpy as np
from tensorrtserver.api import *
url, protocol, streaming = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'True'
context = InferContext(url, protocol, sys.argv[4], streaming=streaming)
data = np.arange(4, dtype=np.int32)
for line in sys.stdin:
    try:
        found = context.run({'INPUT0': [data]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
        assert (found['OUTPUT0'][0] == data).all()
        print('', flush=True)
    except InferenceServerException as error:
        print(error.message(), flush=True)
"""
LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")
UNRESOLVED = (
    "HTTP client failed: Couldn't resolve host name",
    "GRPC client failed: 14: Name resolution failure",
)


class Hosts:
    """A table of names for one program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "hosts"
        self.path.write_text("", "utf-8")

    def say(self, address: str) -> None:
        """Set the address of the name; '' for none."""
        self.path.write_text(f"{address} {HOST}\n" if address else "", "utf-8")

    def run(self, program: list[str]) -> subprocess.Popen[str]:
        """Start a program that reads the table as ``/etc/hosts``."""
        often = "grpc.dns_min_time_between_resolutions_ms=200"  # gRPC: once in 30 seconds
        return subprocess.Popen(
            ["unshare", "-Urm", "sh", "-c", MOUNT, "sh", *program],
            cwd=self.folder,
            env=environment(TRITON_SHIM_GRPC_CHANNEL_ARGUMENTS=often),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Yield a table of names, where a user may have one."""
    hosts = Hosts(tmp_path)
    with hosts.run(["true"]) as trial:
        complaint = trial.communicate()[1]
    if trial.returncode:
        pytest.skip(f"no /etc/hosts of a test's own can be had here: {complaint}")
    yield hosts


def until(wanted: Callable[[str], bool], ask: Callable[[], str]) -> list[str]:
    """Repeat the call until a wanted message. Return the earlier messages."""
    before: list[str] = []
    deadline = time.monotonic() + PATIENCE
    while not wanted(message := ask()):
        before.append(message)
        assert time.monotonic() < deadline, before
        time.sleep(0.1)
    return before


@pytest.mark.parametrize("kind", KINDS)
def test_another_address(kind: str, triton: Any, hosts: Hosts) -> None:
    """A context reports that the name does not resolve, and works once it has another address."""
    protocol, streaming = KINDS[kind]
    hosts.say("127.0.0.1")
    with Relay(triton.url(protocol)) as old, Relay(
        triton.url(protocol), place=("127.0.0.2", old.port)
    ) as new:
        arguments = (f"{HOST}:{old.port}", protocol, streaming, MODEL)
        program = hosts.run(command(PROGRAM, *arguments))
        assert program.stdin is not None and program.stdout is not None

        def ask() -> str:
            assert program.stdin is not None and program.stdout is not None
            program.stdin.write("\n")
            program.stdin.flush()
            return program.stdout.readline().rstrip("\n")

        with program:
            assert ask() == ""
            hosts.say("")
            assert ask() == ""  # the connection stays open
            old.__exit__()
            before = until(lambda message: message == UNRESOLVED[protocol], ask)
            assert all(message.startswith(LOST[protocol]) for message in before)
            hosts.say("127.0.0.2")
            before = until(lambda message: not message, ask)
            assert all(message.startswith(LOST[protocol]) for message in before)
            assert new.connections
            program.stdin.close()
            assert program.wait(PATIENCE) == 0
