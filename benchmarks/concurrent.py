"""Asynchronous workloads: many requests in flight, and one long pipelined sequence."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext, InferRequestHeader, ProtocolType

REQUESTS = 1000
STEPS = 10_000
RAW = InferContext.ResultFormat.RAW
START, END = InferRequestHeader.FLAG_SEQUENCE_START, InferRequestHeader.FLAG_SEQUENCE_END
ONE = np.ones(16, dtype=np.int32)


class Countdown:
    """Callbacks add results to it; the caller waits until all are there."""

    def __init__(self, count: int) -> None:
        self.total = 0
        self._left = count
        self._done = threading.Event()

    def add(self, value: Any) -> None:
        """One result; called by one thread at a time."""
        self.total += int(value)
        self._left -= 1
        if self._left == 0:
            self._done.set()

    def wait(self) -> int:
        """Sum of all results."""
        self._done.wait()
        return self.total


def in_flight(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """1000 asynchronous requests, all sent before the first result is awaited."""
    ctx = InferContext(url, protocol, "simple")
    inputs, outputs = {"INPUT0": [ONE], "INPUT1": [ONE]}, {"OUTPUT0": RAW}

    def facade() -> int:
        left = Countdown(REQUESTS)

        def callback(context: InferContext, request_id: int) -> None:
            left.add(context.get_async_run_results(request_id)["OUTPUT0"][0][0])

        for _ in range(REQUESTS):
            ctx.async_run(callback, inputs, outputs, 1)
        return left.wait()

    hand = _hand_grpc if protocol == ProtocolType.GRPC else _hand_http
    programs = {"facade": facade, "hand": lambda: hand(port, inputs)}
    name = "gRPC" if protocol == ProtocolType.GRPC else "HTTP"
    goal = 1 / 1.2 if protocol == ProtocolType.GRPC else 1 / 5
    return Workload("1000 async requests in flight", name, programs, _equal, goal)


def _equal(ours: int, theirs: int) -> bool:
    return ours == theirs


def _hand_grpc(port: HandPort, inputs: dict[str, Any]) -> int:
    left = Countdown(REQUESTS)

    def callback(result: Any, error: Any) -> None:
        left.add(result.as_numpy("OUTPUT0")[0, 0])

    for _ in range(REQUESTS):
        made, wanted = port.inputs(inputs), port.outputs(["OUTPUT0"])
        port.client.async_infer("simple", made, callback, outputs=wanted)
    return left.wait()


def _hand_http(port: HandPort, inputs: dict[str, Any]) -> int:
    sent = []
    for _ in range(REQUESTS):
        made, wanted = port.inputs(inputs), port.outputs(["OUTPUT0"])
        sent.append(port.client.async_infer("simple", made, outputs=wanted))
    return sum(int(one.get_result().as_numpy("OUTPUT0")[0, 0]) for one in sent)


def sequence(url: str, port: HandPort) -> Workload:
    """One sequence of 10,000 steps on a gRPC stream, none waiting for the one before."""
    ctx = InferContext(url, ProtocolType.GRPC, "sequence_sum", streaming=True)
    value = [np.ones(1, dtype=np.int32)]
    ids = iter(range(1, 1_000_000))

    def facade() -> int:
        left = Countdown(STEPS)

        def callback(context: InferContext, request_id: int) -> None:
            left.add(context.get_async_run_results(request_id)["OUTPUT"][0][0])

        sequence_id = next(ids)
        for step in range(STEPS):
            flags = START if step == 0 else END if step == STEPS - 1 else 0
            ctx.async_run(callback, {"INPUT": value}, {"OUTPUT": RAW}, 1, flags, sequence_id)
        return left.wait()

    def hand() -> int:
        left = Countdown(STEPS)
        client = port.module.InferenceServerClient(port.url)
        client.start_stream(lambda result, error: left.add(result.as_numpy("OUTPUT")[0, 0]))
        sequence_id = next(ids)
        for step in range(STEPS):
            client.async_stream_infer(
                "sequence_sum",
                port.inputs({"INPUT": value}),
                outputs=port.outputs(["OUTPUT"]),
                sequence_id=sequence_id,
                sequence_start=step == 0,
                sequence_end=step == STEPS - 1,
            )
        total = left.wait()
        client.stop_stream()
        client.close()
        return total

    programs = {"facade": facade, "hand": hand}
    name = "10k-step pipelined streamed sequence"
    return Workload(name, "gRPC", programs, _equal, 1.0, ctx.close)
