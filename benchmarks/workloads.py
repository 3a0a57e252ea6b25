"""The workloads of the table: each the same work on the facade and written by hand.

A hand port is what an engineer would write on tritonclient without further thought:
``np.stack``, ``InferInput``, ``infer``, ``as_numpy``.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from benchmarks.floor import Echo
from benchmarks.harness import Call, Workload
from benchmarks.ports import HandPort, model_client
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
    """Same values, entry by entry; a list in one and the first axis in the other."""
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs))


def _random(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def _compared(
    name: str,
    url: str,
    protocol: ProtocolType,
    port: HandPort,
    model: str,
    inputs: dict[str, Any],
    names: list[str],
    goals: tuple[float, float],
) -> Workload:
    """The facade, the hand port, pytriton's client where there is one, and the floor."""
    batch = len(next(iter(inputs.values())))
    ctx = InferContext(url, protocol, model)
    outputs = dict.fromkeys(names, RAW)

    def facade() -> Any:
        results = ctx.run(inputs, outputs, batch)
        return [results[name] for name in names]

    programs: dict[str, Call] = {"facade": facade}
    programs["hand"] = port.infer(model, inputs, names)
    pytriton = model_client(url, protocol, model, inputs, names)
    if pytriton is not None:
        programs["pytriton"] = pytriton
    echo = Echo(_bytes(inputs.values()), _bytes(facade()))
    programs["floor"] = echo.call

    def close() -> None:
        ctx.close()
        echo.close()

    goal = goals[0] if protocol == ProtocolType.GRPC else goals[1]
    return Workload(name, _name(protocol), programs, equal, goal, close)


def _bytes(lists: Any) -> int:
    return sum(array.nbytes for arrays in lists for array in arrays)


def small(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """2×INT32[16] in and out."""
    a, b = np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)
    inputs, names = {"INPUT0": [a], "INPUT1": [b]}, ["OUTPUT0", "OUTPUT1"]
    name = "small run, 2×INT32[16]"
    return _compared(name, url, protocol, port, "simple", inputs, names, (1.0, 1.0))


def large_in(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """8×FP32[3,224,224] in, FP32[1000] out."""
    inputs = {"INPUT0": [_random((3, 224, 224)) for _ in range(8)]}
    name = "8×FP32[3,224,224] in, FP32[1000] out"
    return _compared(name, url, protocol, port, "large_in", inputs, ["OUTPUT0"], (0.5, 0.9))


def large_out(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """Small in, 19 MB FP32 out."""
    inputs = {"INPUT0": [np.zeros(1, np.float32)]}
    name = "small in, 19 MB FP32 out"
    return _compared(name, url, protocol, port, "large_out", inputs, ["OUTPUT0"], (0.6, 0.95))


def many_entries(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """64 list entries of FP32[1024]."""
    inputs = {"INPUT0": [_random((1024,)) for _ in range(64)]}
    name = "64 list entries of FP32[1024]"
    return _compared(name, url, protocol, port, "batch_64", inputs, ["OUTPUT0"], (0.7, 0.9))


def strings(count: int) -> Callable[[str, ProtocolType, HandPort], Workload]:
    """``count`` short strings in and out."""

    def workload(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
        inputs = {"INPUT0": [np.array([f"text {i}" for i in range(count)], dtype=object)]}
        name = f"{count // 1000}k short strings in and out"
        model = "identity_string"
        return _compared(name, url, protocol, port, model, inputs, ["OUTPUT0"], (0.5, 0.5))

    return workload


def classes(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """CLASS top-5 of 1000, batch 8; by hand from the server's strings."""
    scores = [_random((1000,)) for _ in range(8)]
    ctx = InferContext(url, protocol, "classify_1000")
    hand = port.classify("classify_1000", {"INPUT": scores}, "OUTPUT", 5)

    def facade() -> Any:
        return ctx.run({"INPUT": scores}, {"OUTPUT": (CLASS, 5)}, 8)["OUTPUT"]

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


ROWS = (
    small,
    large_in,
    large_out,
    many_entries,
    strings(1_000),
    strings(100_000),
    classes,
)
