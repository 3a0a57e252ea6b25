"""``python -m benchmarks.gateway``: the gateway compared with a server that only forwards.

Clients send v1 inferences to the gateway, in turns with requests to ``gateway_forward.py``. That
server has the gateway's libraries and translates nothing. The figures are the CPU time of each
process per request. Both have the variables of ``deploy/`` for glibc, unless it is called with
``--glibc-defaults``.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack

from benchmarks.harness import ROOT
from testbed import TritonServer

ROUNDS = 9
#: Bytes of a tensor → requests in a round, clients, and the goal for the ratio.
SIZES = {64: (1000, 8, 1.5), 4_800_000: (60, 2, 1.2)}
#: As in deploy/. Without them glibc gives large buffers back to the system after each request.
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "134217728",
    "MALLOC_ARENA_MAX": "2",
}


class Process:
    """A program that prints where it listens."""

    def __init__(self, closing: ExitStack, *arguments: str) -> None:
        more = {} if "--glibc-defaults" in sys.argv else KEEP_MEMORY
        self.process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **more},
        )
        closing.callback(self.process.kill)
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline().strip()

    def cpu(self) -> float:
        """Return the seconds of CPU time so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            user, system = stat.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def cpu_of_request(program: Process, version: str, protocol: str, address: str, size: int) -> float:
    """Return the CPU time per request, in milliseconds."""
    count, clients, _ = SIZES[size]
    numbers = [str(value) for value in (size, count, clients)]
    command = [sys.executable, "-m", "benchmarks.gateway_load", version, protocol, address]
    before = program.cpu()
    subprocess.run([*command, *numbers], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (program.cpu() - before) / count


def row(protocol: str, size: int, gateway: Process, address: str, forward: Process) -> str:
    """Run both in turns, and return a line of the table with the medians."""
    version = "v2" if protocol == "grpc" else "v1"
    pairs = []
    for _ in range(ROUNDS + 1):
        ours = cpu_of_request(gateway, "v1", protocol, address, size)
        pairs.append((ours, cpu_of_request(forward, version, protocol, forward.line, size)))
    ours, least = (statistics.median(pair[place] for pair in pairs[1:]) for place in (0, 1))
    ratio = statistics.median(pair[0] / pair[1] for pair in pairs[1:])  # the first warms up
    return (
        f"| {protocol}, {size} bytes | {SIZES[size][2]} | {ours:.2f} ms | {least:.2f} ms "
        f"| {ratio:.2f} |"
    )


def main() -> int:
    """Run, and print the table."""
    print(
        "| request | goal, ratio | CPU, gateway | CPU, forwarding only | ratio |\n"
        + 5 * "|---"
        + "|"
    )
    with ExitStack() as closing, TritonServer.start(models=["identity_fp32"]) as triton:
        listen = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--start-line", "json")
        command = ("tritonclient_shim", "gateway", "--triton-grpc", triton.grpc, *listen)
        gateway = Process(closing, *command)
        bound = json.loads(gateway.line)
        for protocol in ("grpc", "http"):
            forward = Process(closing, "benchmarks.gateway_forward", protocol, triton.grpc)
            for size in SIZES:
                print(row(protocol, size, gateway, bound[protocol], forward), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
