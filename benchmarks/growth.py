"""``python -m benchmarks.growth``: how time and memory grow with the size of the work.

Each row multiplies one thing: entries of a batch, outputs of a request, contexts, threads, or
models of a process. Time is that of the facade divided by that of the hand port, in turns. Memory
is the growth of a new process's resident size, also divided.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any, Callable, Sequence

import numpy as np

from benchmarks.harness import ROOT, Call, Ratio, Row, Workload, equal, orders
from benchmarks.harness import compare as compare_rows
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext, ProtocolType
from testbed import TritonServer, repository

COUNTS = (1, 10, 100, 1000)
MOST = COUNTS[-1]
RUNS_PER_THREAD = 10
SECONDS = 6.0
MEMORY_ROUNDS = 3
PROTOCOLS = {"gRPC": ProtocolType.GRPC, "HTTP": ProtocolType.HTTP}
RAW = InferContext.ResultFormat.RAW
_VALUES = np.arange(16, dtype=np.float32)


class Kind:
    """Something to have many of. A program is made for a count; its call does all the work."""

    def facade(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        """Return the call of a v1 program."""
        raise NotImplementedError

    def hand(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        """Return the call of the same program on tritonclient."""
        raise NotImplementedError


class Entries(Kind):
    """Entries of the batch of one request."""

    def facade(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        ctx = InferContext(url, protocol, "growth_entries")
        closing.callback(ctx.close)
        arrays = [_VALUES + number for number in range(count)]
        return lambda: ctx.run({"INPUT0": arrays}, {"OUTPUT0": RAW}, count)["OUTPUT0"]

    def hand(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        arrays = [_VALUES + number for number in range(count)]
        infer = HandPort(url, protocol, closing).infer(
            "growth_entries", {"INPUT0": arrays}, ["OUTPUT0"]
        )
        return lambda: list(infer()[0])


class Outputs(Kind):
    """Outputs of one request."""

    def facade(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        ctx = InferContext(url, protocol, "growth_outputs")
        closing.callback(ctx.close)
        forms = dict.fromkeys(_names(count), RAW)

        def call() -> Any:
            results = ctx.run({"INPUT0": [_VALUES]}, forms, 1)
            return [results[name][0] for name in forms]

        return call

    def hand(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        port = HandPort(url, protocol, closing)
        infer = port.infer("growth_outputs", {"INPUT0": [_VALUES]}, _names(count))
        return lambda: [batch[0] for batch in infer()]


class Contexts(Kind):
    """Contexts, or clients, of one model, each with one request."""

    def facade(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        def call() -> Any:
            contexts = [InferContext(url, protocol, "identity_fp32") for _ in range(count)]
            results = [_run(ctx) for ctx in contexts]
            for ctx in contexts:
                ctx.close()
            return results

        return call

    def hand(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        def call() -> Any:
            with ExitStack() as clients:
                ports = [HandPort(url, protocol, clients) for _ in range(count)]
                return [_infer(port)[0][0] for port in ports]

        return call


class Threads(Kind):
    """Threads, each with a context or client and several requests."""

    def facade(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        def work(results: list[Any]) -> None:
            ctx = InferContext(url, protocol, "identity_fp32")
            for _ in range(RUNS_PER_THREAD):
                result = _run(ctx)
            ctx.close()
            results.append(result)

        return lambda: _in_threads(work, count)

    def hand(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        def work(results: list[Any]) -> None:
            with ExitStack() as clients:
                port = HandPort(url, protocol, clients)
                for _ in range(RUNS_PER_THREAD):
                    result = _infer(port)[0][0]
            results.append(result)

        return lambda: _in_threads(work, count)


class Models(Kind):
    """Models of one server, with one context each, or one client for all."""

    def facade(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        contexts = [InferContext(url, protocol, name) for name in _models(count)]
        for ctx in contexts:
            closing.callback(ctx.close)
        return lambda: [_run(ctx) for ctx in contexts]

    def hand(self, url: str, protocol: int, count: int, closing: ExitStack) -> Call:
        port = HandPort(url, protocol, closing)
        calls = [port.infer(name, {"INPUT0": [_VALUES]}, ["OUTPUT0"]) for name in _models(count)]
        return lambda: [call()[0][0] for call in calls]


KINDS: dict[str, Kind] = {
    "entries": Entries(),
    "outputs": Outputs(),
    "contexts": Contexts(),
    "threads": Threads(),
    "models": Models(),
}


def _names(count: int) -> list[str]:
    return [f"OUTPUT{number}" for number in range(count)]


def _models(count: int) -> list[str]:
    return [f"growth_{number}" for number in range(count)]


def _run(ctx: InferContext) -> Any:
    return ctx.run({"INPUT0": [_VALUES]}, {"OUTPUT0": RAW}, 1)["OUTPUT0"][0]


def _infer(port: HandPort) -> Any:
    return port.infer("identity_fp32", {"INPUT0": [_VALUES]}, ["OUTPUT0"])()


def _in_threads(work: Callable[[list[Any]], None], count: int) -> list[Any]:
    results: list[Any] = []
    threads = [Thread(target=work, args=(results,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# ------------------------------------------------------------------------------------- models


def _write_models(folder: Path) -> None:
    """Write the models: one with large batches, one with many outputs, and many ensembles."""
    tensor = repository.tensor
    models = {
        "identity_fp32": repository.MODELS["identity_fp32"],
        "growth_entries": repository.identity("fp32", (16,), batch=MOST),
        "growth_outputs": repository.model(
            "repeated",
            [tensor("INPUT0", "fp32", [16])],
            [tensor(name, "fp32", [16]) for name in _names(MOST)],
        ),
    }
    for name in _models(MOST):
        step = repository.step("identity_fp32", {"INPUT0": "INPUT0"}, {"OUTPUT0": "OUTPUT0"})
        models[name] = repository.ensemble(
            [tensor("INPUT0", "fp32", [-1])], [tensor("OUTPUT0", "fp32", [-1])], step
        )
    repository.write(folder, models, models)


# --------------------------------------------------------------------------------- comparisons


def _time(kind: str, protocol: str, count: int, url: str, seconds: float) -> tuple[Ratio, Ratio]:
    """Return facade ÷ hand, by wall clock and by CPU."""

    def make(url: str, number: int, closing: ExitStack) -> Workload:
        programs = {
            "facade": KINDS[kind].facade(url, number, count, closing),
            "hand": KINDS[kind].hand(url, number, count, closing),
        }
        return Workload(programs, equal)

    row = Row(f"{count} {kind}", {protocol: 1.0}, make)
    with ExitStack() as closing:
        workload = make(url, PROTOCOLS[protocol], closing)
        (comparison,) = compare_rows(row, protocol, workload, seconds)
    assert comparison.cpu is not None
    return comparison.wall, comparison.cpu


def _memory(kind: str, protocol: str, count: int, url: str) -> float:
    """Return facade ÷ hand: the growth of new processes by this work, as medians."""
    grown: dict[str, list[float]] = {"facade": [], "hand": []}
    for _, order in zip(range(MEMORY_ROUNDS), orders(list(grown))):
        for program in order:
            grown[program].append(_growth_in_process(program, kind, protocol, count, url))
    return float(np.median(grown["facade"]) / max(np.median(grown["hand"]), 1))


def _growth_in_process(program: str, kind: str, protocol: str, count: int, url: str) -> float:
    arguments = ["--in-process", program, kind, protocol, str(count), url]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.growth", *arguments],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        cwd=ROOT,
    )
    return float(done.stdout)


def _measure_process(program: str, kind: str, protocol: str, count: int, url: str) -> int:
    """Return how many bytes the work adds to this process, which has done a little of it."""
    make = getattr(KINDS[kind], program)
    with ExitStack() as closing:
        make(url, PROTOCOLS[protocol], 1, closing)()
        before = _resident()
        results = make(url, PROTOCOLS[protocol], count, closing)()
        grown = _resident() - before
        assert len(results) == count
    return grown


def _resident() -> int:
    """Return the highest resident size so far, in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kilobytes) * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each kind, count and protocol."""
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    parser.add_argument("--only", default="", help="this kind of work only")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="per line (default: 6)")
    parser.add_argument("--in-process", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.in_process:
        program, kind, protocol, count, url = options.in_process
        print(_measure_process(program, kind, protocol, int(count), url))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        _write_models(Path(folder))
        with TritonServer.start(repository=folder) as server:
            _print_lines(server, options.only, options.seconds)
    return 0


def _print_lines(server: TritonServer, only: str, seconds: float) -> None:
    print("| | protocol | wall | CPU | memory |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        if only not in ("", kind):
            continue
        for protocol, number in PROTOCOLS.items():
            for count in COUNTS:
                url = server.url(number)
                wall, cpu = _time(kind, protocol, count, url, seconds)
                memory = _memory(kind, protocol, count, url) if count > 1 else 0.0
                ratio = f"{memory:.2f}" if count > 1 else "–"
                print(
                    f"| {count} {kind} | {protocol} | {wall.median:.2f} | {cpu.median:.2f} "
                    f"| {ratio} |",
                    flush=True,
                )


if __name__ == "__main__":
    sys.exit(main())
