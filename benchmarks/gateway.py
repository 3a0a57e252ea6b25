"""``python -m benchmarks.gateway``: the gateway beside a plain TCP proxy in front of Triton.

The same client asks, in turns, the gateway for v1 inferences, and Triton itself for the same
inferences of v2 through a proxy that only copies bytes, and a server that has the gateway's
libraries and translates nothing (``gateway_forward.py``). The figures are the CPU time of the
processes for each request, and the wall time as the client sees it.
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

from benchmarks.floor import ROOT
from testbed import TritonServer

ROUNDS = 5
#: Bytes of a tensor → requests in a round, clients.
SIZES = {64: (1000, 8), 4_800_000: (60, 2)}
#: The same → the goal for the gateway's CPU time of one request, in milliseconds.
GOALS = {64: 0.35, 4_800_000: 6}
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
    numbers = [str(value) for value in (size, count, clients)]
    command = [sys.executable, "-m", "benchmarks.gateway_load", version, protocol, address]
    before = program.cpu()
    done = subprocess.run(
        [*command, *numbers], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return 1000 * (program.cpu() - before) / count, 1000 * float(done.stdout) / count


def row(protocol: str, size: int, servers: dict[str, tuple[str, Process, str]]) -> str:
    """Return a line of the table: the medians of the rounds, taken in turns.

    ``servers`` are version, program and address by the name of what is measured.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for number in range(ROUNDS + 1):
        for name, (version, program, address) in servers.items():
            figure = figures(program, version, protocol, address, size)
            if number:  # the first round warms up
                taken[name].append(figure)
    cpu, wall = (
        {name: statistics.median(pair[place] for pair in pairs) for name, pairs in taken.items()}
        for place in (0, 1)
    )
    return (
        f"| {protocol}, {size} bytes | {GOALS[size]} ms | {cpu['gateway']:.2f} ms "
        f"| {cpu['forward']:.2f} ms | {cpu['proxy']:.2f} ms "
        f"| {cpu['gateway'] / cpu['proxy']:.1f} | {wall['gateway'] / wall['proxy']:.2f} |"
    )


def main() -> int:
    """Run, and print the table."""
    print("| request | goal | CPU, gateway | CPU, forwarding only | CPU, proxy | CPU ratio "
          "| wall ratio |\n|---|---|---|---|---|---|---|")  # fmt: skip
    with ExitStack() as closing, TritonServer.start(models=["identity_fp32"]) as triton:
        listen = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
        command = (
            "tritonclient_shim",
            "gateway",
            "--triton-grpc",
            triton.grpc,
            *listen,
            "--start-line",
            "json",
        )
        gateway = Process(closing, *command)
        bound = json.loads(gateway.line)
        for protocol in ("grpc", "http"):
            between = Process(closing, "benchmarks.gateway", getattr(triton, protocol))
            forward = Process(closing, "benchmarks.gateway_forward", protocol, triton.grpc)
            version = "v2" if protocol == "grpc" else "v1"
            for size in SIZES:
                servers = {
                    "gateway": ("v1", gateway, bound[protocol]),
                    "forward": (version, forward, forward.line),
                    "proxy": ("v2", between, between.line),
                }
                print(row(protocol, size, servers), flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1:]:
        proxy(sys.argv[1])
    sys.exit(main())
