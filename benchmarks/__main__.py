"""``python -m benchmarks``: run all rows, or some rows, on a new server."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import Iterator

from benchmarks import concurrent, processes, regions, report, workloads
from benchmarks.harness import SECONDS, Comparison, compare
from tensorrtserver.api import ProtocolType
from testbed import TritonServer

PROTOCOLS = {"gRPC": ProtocolType.GRPC, "HTTP": ProtocolType.HTTP}
ROWS = (*workloads.ROWS, *concurrent.ROWS, *regions.ROWS)

#: Models that the server must have loaded.
MODELS = (
    "simple",
    "identity_fp32",
    "identity_string",
    "classify_1000",
    "sequence_sum",
    "batch_64",
    "large_in",
    "large_out",
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="per row (default: 20)")
    parser.add_argument("--write", action="store_true", help="write every row into docs/costs.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write writes every row: leave --only out")
    return options


def _run(server: TritonServer, only: str, seconds: float) -> Iterator[Comparison]:
    for protocol, number in PROTOCOLS.items():
        for row in (row for row in ROWS if only in row.name and protocol in row.goals):
            with ExitStack() as closing:
                workload = row.make(server.url(number), number, closing)
                yield from compare(row, protocol, workload, seconds)
    yield from _in_processes(server, only)


def _in_processes(server: TritonServer, only: str) -> Iterator[Comparison]:
    if only in processes.MEMORY:
        for protocol, number in PROTOCOLS.items():
            yield processes.memory(server.url(number), protocol)
    if only in processes.IMPORT:
        yield processes.imports()


def main() -> int:
    """Run the rows, and print a line after each comparison."""
    options = _arguments()
    done = []
    with TritonServer.start(models=MODELS) as server:
        conditions = report.conditions(server.http, options.seconds)
        for comparison in _run(server, options.only, options.seconds):
            print(report.line(comparison), flush=True)
            done.append(comparison)
    if options.write:
        report.write_page(done, conditions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
