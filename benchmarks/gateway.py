"""``python -m benchmarks.gateway``: the gateway beside a plain TCP proxy in front of Triton.

The same client asks, in turns, the gateway for v1 inferences, and Triton itself for the same
inferences of v2 through a proxy that only copies bytes. The figures are the CPU time of the
gateway's and of the proxy's process for each request, and the wall time as the client sees it.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from typing import Any

from benchmarks.floor import ROOT
from testbed import TritonServer

ROUNDS = 5
#: Bytes of a tensor → requests in a round, clients.
SIZES = {64: (1000, 8), 4_800_000: (60, 2)}
_READ = 256 * 1024


def proxy(target: str) -> None:
    """Copy bytes between clients and a target, for ever; print the address first."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
        host, _, port = target.rpartition(":")
        while True:
            client, _ = listener.accept()
            server = socket.create_connection((host, int(port)))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    buffer = memoryview(bytearray(_READ))
    sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(OSError):
        while size := source.recv_into(buffer):
            sink.sendall(buffer[:size])
        sink.shutdown(socket.SHUT_WR)


class Process:
    """A program that prints where it listens."""

    def __init__(self, closing: ExitStack, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        closing.callback(self.process.kill)
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline().strip()

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            user, system = stat.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def figures(
    program: Process, version: str, protocol: str, address: str, size: int
) -> tuple[float, float]:
    """CPU and wall time of one request, in milliseconds."""
    count, clients = SIZES[size]
    numbers = [str(one) for one in (size, count, clients)]
    command = [sys.executable, "-m", "benchmarks.gateway_load", version, protocol, address]
    before = program.cpu()
    done = subprocess.run(
        [*command, *numbers], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return 1000 * (program.cpu() - before) / count, 1000 * float(done.stdout) / count


def row(protocol: str, size: int, gateway: tuple[Any, ...], direct: tuple[Any, ...]) -> str:
    """A line of the table: the medians of the rounds, taken in turns."""
    found: dict[str, list[tuple[float, float]]] = {"v1": [], "v2": []}
    for number in range(ROUNDS + 1):
        for version, (program, address) in (("v1", gateway), ("v2", direct)):
            figure = figures(program, version, protocol, address, size)
            if number:  # the first round warms up
                found[version].append(figure)
    (cpu, wall), (floor_cpu, floor_wall) = (
        tuple(statistics.median(column) for column in zip(*found[version]))
        for version in ("v1", "v2")
    )
    return (
        f"| {protocol}, {size} bytes | {cpu:.2f} ms | {floor_cpu:.2f} ms | {cpu / floor_cpu:.1f} "
        f"| {wall / floor_wall:.2f} |"
    )


def main() -> int:
    """Run, and print the table."""
    print("| request | CPU, gateway | CPU, proxy | CPU ratio | wall ratio |\n|---|---|---|---|---|")
    with ExitStack() as closing, TritonServer.start(models=["identity_fp32"]) as triton:
        listen = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
        command = ("tritonclient_shim", "gateway", "--triton-grpc", triton.grpc, *listen)
        gateway = Process(closing, *command)
        bound = json.loads(gateway.line)
        for protocol in ("grpc", "http"):
            between = Process(closing, "benchmarks.gateway", getattr(triton, protocol))
            for size in SIZES:
                direct = (between, between.line)
                print(row(protocol, size, (gateway, bound[protocol]), direct), flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1:]:
        proxy(sys.argv[1])
    sys.exit(main())
