"""``python -m benchmarks``: run the table, or some of its rows, on a server of its own."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Callable, Iterator

from benchmarks import concurrent, processes, regions, report, workloads
from benchmarks.harness import Comparison, Workload, compare
from benchmarks.ports import HandPort
from tensorrtserver.api import ProtocolType
from testbed import TritonServer

PROTOCOLS = (ProtocolType.GRPC, ProtocolType.HTTP)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    parser.add_argument("--seconds", type=float, default=20.0, help="per row (default: 20)")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    return parser.parse_args()


def _workloads(server: TritonServer) -> Iterator[Callable[[], Workload]]:
    """Every workload with both programs in this process, not made before its turn."""
    for protocol in PROTOCOLS:
        url, port = server.url(protocol), HandPort(server.url(protocol), protocol)
        for row in (*workloads.ROWS, concurrent.in_flight, regions.shared):
            yield lambda row=row, url=url, port=port, protocol=protocol: row(url, protocol, port)
        if protocol == ProtocolType.GRPC:
            yield lambda url=url, port=port: concurrent.sequence(url, port)
        port.close()


def _in_processes(server: TritonServer, only: str) -> Iterator[Comparison]:
    if only in "peak memory growth":
        yield processes.memory(server.grpc, ProtocolType.GRPC, 0.6)
        yield processes.memory(server.http, ProtocolType.HTTP, 0.8)
    if only in "import tensorrtserver.api":
        yield processes.imports()


def _run(server: TritonServer, options: argparse.Namespace) -> Iterator[Comparison]:
    for make in _workloads(server):
        workload = make()
        if options.only in workload.name:
            yield from compare(workload, options.seconds)
        else:
            workload.close()
    yield from _in_processes(server, options.only)


def main() -> int:
    """Run, and print a line per comparison as it is done, then the table."""
    options = _arguments()
    done = []
    with TritonServer.start(models=workloads.MODELS) as server:
        for comparison in _run(server, options):
            print(report.line(comparison), flush=True)
            done.append(comparison)
    print(report.table(done))
    if options.json:
        options.json.write_text(json.dumps(report.figures(done), indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
