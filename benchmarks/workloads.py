"""The synchronous workloads: equal work on the facade and written by hand.

A hand port is the plainest code on tritonclient:
``np.stack``, ``InferInput``, ``infer``, ``as_numpy``.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Mapping, Sequence

import numpy as np

from benchmarks import bare
from benchmarks.harness import Call, Row, Workload, equal
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext
from tritonclient_shim.core import reading
from tritonclient_shim.session.plan import Plan

RAW = InferContext.ResultFormat.RAW
CLASS = InferContext.ResultFormat.CLASS
Inputs = Mapping[str, Sequence[Any]]
#: Calls per sample of a row that is timed in blocks.
BLOCK = 20


def _random(count: int, shape: tuple[int, ...]) -> list[Any]:
    """Return entries that differ. The server sorts equal rows in much less time."""
    generator = np.random.default_rng(7)
    return [generator.random(shape, dtype=np.float32) for _ in range(count)]


def _raw(name: str, grpc: float, http: float, model: str, inputs: Inputs, outputs: int = 1) -> Row:
    """Return a row with RAW results of the model's outputs."""
    names = [f"OUTPUT{number}" for number in range(outputs)]

    def make(url: str, protocol: int, closing: ExitStack) -> Workload:
        batch = len(next(iter(inputs.values())))
        ctx = InferContext(url, protocol, model)
        closing.callback(ctx.close)

        def facade() -> Any:
            results = ctx.run(inputs, dict.fromkeys(names, RAW), batch)
            return [results[name] for name in names]

        port = HandPort(url, protocol, closing)
        programs: dict[str, Call] = {
            "facade": facade,
            "hand": port.infer(model, inputs, names),
            "bare": bare.single_request(facade, url, protocol, closing),
        }
        return Workload(programs, _same_batches)

    return Row(name, {"gRPC": grpc, "HTTP": http}, make)


def small(url: str, protocol: int, closing: ExitStack) -> Workload:
    """Make a small run, also with each cache of the session turned off."""
    workload = _SMALL.make(url, protocol, closing)
    programs = workload.programs
    programs["every plan compiled"] = _with(Plan, "suits", _never, programs["facade"])
    programs["every reply parsed"] = _with(reading, "REMEMBERED_BYTES", 0, programs["facade"])
    return workload


def _never(*_: Any) -> bool:
    """Return False: no plan suits another request."""
    return False


def _with(module: Any, switch: str, value: Any, call: Call) -> Call:
    usual = getattr(module, switch)

    def switched() -> Any:
        setattr(module, switch, value)
        try:
            return call()
        finally:
            setattr(module, switch, usual)

    return switched


def _same_batches(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """True if all entries of all outputs are equal."""
    return len(ours) == len(theirs) and all(equal(a, b) for a, b in zip(ours, theirs))


def _strings(count: int) -> Row:
    texts = np.array([f"text {i}" for i in range(count)], dtype=object)
    name = f"{count // 1000}k short strings in and out"
    return _raw(name, 0.5, 0.5, "identity_string", {"INPUT0": [texts]})


def classes(url: str, protocol: int, closing: ExitStack) -> Workload:
    """Make CLASS top-5 of 1000, batch 8. The hand port splits the server's strings."""
    scores = _random(8, (1000,))
    ctx = InferContext(url, protocol, "classify_1000")
    closing.callback(ctx.close)

    def facade() -> Any:
        return ctx.run({"INPUT": scores}, {"OUTPUT": (CLASS, 5)}, 8)["OUTPUT"]

    port = HandPort(url, protocol, closing)
    hand = port.classify("classify_1000", {"INPUT": scores}, "OUTPUT", 5)
    programs = {
        "facade": facade,
        "hand": hand,
        "bare": bare.single_request(facade, url, protocol, closing),
    }
    return Workload(programs, same_classes)


def same_classes(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """True if indices and labels are equal, and values nearly. The server prints six decimals."""
    if [len(row) for row in ours] != [len(row) for row in theirs]:
        return False
    return all(
        a[0] == b[0] and a[2] == b[2] and abs(a[1] - b[1]) < 1e-5
        for row, other in zip(ours, theirs)
        for a, b in zip(row, other)
    )


def and_in_a_row(row: Row) -> tuple[Row, Row]:
    """Return a row of short calls, and a row with a block of calls per sample.

    A single call runs right after a garbage collection. Users call in loops.
    """

    def make(url: str, protocol: int, closing: ExitStack) -> Workload:
        single = row.make(url, protocol, closing)
        programs = {name: _repeated(call) for name, call in single.programs.items()}
        return Workload(programs, single.same)

    return row, Row(f"{row.name}, {BLOCK} in a row", row.goals, make)


def _repeated(call: Call) -> Call:
    """Return a block of calls, which returns the last result."""

    def block() -> Any:
        for _ in range(BLOCK - 1):
            call()
        return call()

    return block


_SIXTEEN = {
    "INPUT0": [np.arange(16, dtype=np.int32)],
    "INPUT1": [np.ones(16, dtype=np.int32)],
}
_SMALL = _raw("small run, 2×INT32[16]", 1.0, 1.0, "simple", _SIXTEEN, outputs=2)
ROWS = (
    *and_in_a_row(Row(_SMALL.name, _SMALL.goals, small)),
    _raw(
        "8×FP32[3,224,224] in, FP32[1000] out",
        0.5,
        0.9,
        "large_in",
        {"INPUT0": _random(8, (3, 224, 224))},
    ),
    _raw("small in, 19 MB FP32 out", 0.6, 0.95, "large_out", {"INPUT0": [np.zeros(1, np.float32)]}),
    *and_in_a_row(
        _raw(
            "64 list entries of FP32[1024]",
            0.7,
            0.9,
            "batch_64",
            {"INPUT0": _random(64, (1024,))},
        )
    ),
    *and_in_a_row(_strings(1_000)),
    _strings(100_000),
    *and_in_a_row(Row("CLASS top-5 of 1000, batch 8", {"gRPC": 1.0, "HTTP": 1.0}, classes)),
)
