"""The workloads of the table: each the same work on the facade and written by hand.

A hand port is what an engineer would write on tritonclient without further thought:
``np.stack``, ``InferInput``, ``infer``, ``as_numpy``.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np

from benchmarks.harness import Call, Workload
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext, ProtocolType

RAW = InferContext.ResultFormat.RAW
CLASS = InferContext.ResultFormat.CLASS
Array = Any

#: Models a server must have loaded.
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


def equal(ours: Any, theirs: Any) -> bool:
    """Same values, entry by entry; the batch dimension is a list in one and an axis in the other."""
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs))


def _random(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def _run(ctx: InferContext, inputs: dict[str, Any], outputs: dict[str, Any], batch: int) -> Call:
    names = list(outputs)

    def call() -> Any:
        results = ctx.run(inputs, outputs, batch)
        return [results[name] for name in names]

    return call


def small(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """2×INT32[16] in and out."""
    a = np.arange(16, dtype=np.int32)
    b = np.ones(16, dtype=np.int32)
    ctx = InferContext(url, protocol, "simple")
    inputs = {"INPUT0": [a], "INPUT1": [b]}
    facade = _run(ctx, inputs, {"OUTPUT0": RAW, "OUTPUT1": RAW}, 1)
    hand = port.infer("simple", inputs, ["OUTPUT0", "OUTPUT1"])
    return _made("small run, 2×INT32[16]", protocol, facade, hand, 1.0, 1.0)


def large_in(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """8×FP32[3,224,224] in, FP32[1000] out."""
    images = [_random((3, 224, 224)) for _ in range(8)]
    ctx = InferContext(url, protocol, "large_in")
    facade = _run(ctx, {"INPUT0": images}, {"OUTPUT0": RAW}, 8)
    hand = port.infer("large_in", {"INPUT0": images}, ["OUTPUT0"])
    name = "8×FP32[3,224,224] in, FP32[1000] out"
    return _made(name, protocol, facade, hand, 0.5, 0.9)


def large_out(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """Small in, 19 MB FP32 out."""
    one = [np.zeros(1, np.float32)]
    ctx = InferContext(url, protocol, "large_out")
    facade = _run(ctx, {"INPUT0": one}, {"OUTPUT0": RAW}, 1)
    hand = port.infer("large_out", {"INPUT0": one}, ["OUTPUT0"])
    return _made("small in, 19 MB FP32 out", protocol, facade, hand, 0.6, 0.95)


def many_entries(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """64 list entries of FP32[1024]."""
    entries = [_random((1024,)) for _ in range(64)]
    ctx = InferContext(url, protocol, "batch_64")
    facade = _run(ctx, {"INPUT0": entries}, {"OUTPUT0": RAW}, 64)
    hand = port.infer("batch_64", {"INPUT0": entries}, ["OUTPUT0"])
    return _made("64 list entries of FP32[1024]", protocol, facade, hand, 0.7, 0.9)


def strings(count: int) -> Callable[[str, ProtocolType, HandPort], Workload]:
    """``count`` short strings in and out."""

    def workload(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
        texts = [np.array([f"text {i}" for i in range(count)], dtype=object)]
        ctx = InferContext(url, protocol, "identity_string")
        facade = _run(ctx, {"INPUT0": texts}, {"OUTPUT0": RAW}, 1)
        hand = port.infer("identity_string", {"INPUT0": texts}, ["OUTPUT0"])
        name = f"{count // 1000}k short strings in and out"
        return _made(name, protocol, facade, hand, 0.5, 0.5)

    return workload


def classes(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """CLASS top-5 of 1000, batch 8; by hand from the server's strings."""
    scores = [_random((1000,)) for _ in range(8)]
    ctx = InferContext(url, protocol, "classify_1000")
    run = _run(ctx, {"INPUT": scores}, {"OUTPUT": (CLASS, 5)}, 8)
    hand = port.classify("classify_1000", {"INPUT": scores}, "OUTPUT", 5)

    def facade() -> Any:
        return run()[0]

    programs = {"facade": facade, "hand": hand}
    return Workload("CLASS top-5 of 1000, batch 8", _name(protocol), programs, _same_classes, 1.0)


def _same_classes(ours: Any, theirs: Any) -> bool:
    """Same indices and labels; values up to the six decimals that the server prints."""
    return all(
        a[0] == b[0] and a[2] == b[2] and abs(a[1] - b[1]) < 1e-5
        for row, other in zip(ours, theirs)
        for a, b in zip(row, other)
    )


def _name(protocol: ProtocolType) -> str:
    return "gRPC" if protocol == ProtocolType.GRPC else "HTTP"


def _made(
    name: str, protocol: ProtocolType, facade: Call, hand: Call, grpc: float, http: float
) -> Workload:
    goal = grpc if protocol == ProtocolType.GRPC else http
    return Workload(name, _name(protocol), {"facade": facade, "hand": hand}, equal, goal)


ROWS = (
    small,
    large_in,
    large_out,
    many_entries,
    strings(1_000),
    strings(100_000),
    classes,
)


def synchronous(url: Callable[[int], str], ports: dict[int, HandPort]) -> Iterator[Workload]:
    """Every synchronous workload on both protocols, made one after another."""
    for row in ROWS:
        for protocol in (ProtocolType.GRPC, ProtocolType.HTTP):
            yield row(url(protocol), protocol, ports[protocol])
