"""Asynchronous workloads: many requests in flight, and a long pipelined sequence."""

from __future__ import annotations

import itertools
import threading
from contextlib import ExitStack
from typing import Any, Mapping, Sequence

import numpy as np

from benchmarks import bare
from benchmarks.harness import LONGEST_WAIT, Call, Row, Workload, equal
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext, InferRequestHeader, ProtocolType

REQUESTS = 1000
STEPS = 10_000
RAW = InferContext.ResultFormat.RAW
START, END = InferRequestHeader.FLAG_SEQUENCE_START, InferRequestHeader.FLAG_SEQUENCE_END
Request = Mapping[str, Any]


class Arrivals:
    """Arrays that callbacks add. The caller waits until all have arrived."""

    def __init__(self, count: int) -> None:
        self._arrays: list[Any] = []
        self._count = count
        self._done = threading.Event()

    def add(self, array: Any) -> None:
        """Add a result. Threads must not call this at once."""
        self._arrays.append(array)
        if len(self._arrays) == self._count:
            self._done.set()

    def wait(self) -> list[Any]:
        """Return all results in order of arrival. Raise TimeoutError if some are missing."""
        if not self._done.wait(LONGEST_WAIT):
            raise TimeoutError(f"{len(self._arrays)} of {self._count} results came")
        return self._arrays


def _requests() -> list[Request]:
    ones = np.ones(16, dtype=np.int32)
    return [{"INPUT0": np.full(16, n, np.int32), "INPUT1": ones} for n in range(REQUESTS)]


def in_flight(url: str, protocol: int, closing: ExitStack) -> Workload:
    """Make 1000 asynchronous requests, all sent before the first result is awaited."""
    ctx = InferContext(url, protocol, "simple")
    closing.callback(ctx.close)
    requests, outputs = _requests(), {"OUTPUT0": RAW}

    def facade() -> list[Any]:
        arrived = Arrivals(REQUESTS)

        def callback(context: InferContext, request_id: int) -> None:
            arrived.add(context.get_async_run_results(request_id)["OUTPUT0"][0])

        for request in requests:
            ctx.async_run(callback, _batch(request), outputs, 1)
        return arrived.wait()

    port = HandPort(url, protocol, closing)
    hand = _hand_grpc if protocol == ProtocolType.GRPC else _hand_http
    programs: dict[str, Call] = {
        "facade": facade,
        "hand": lambda: hand(port, requests),
        "bare": bare.in_flight(facade, url, protocol, closing),
    }
    return Workload(programs, equal_in_any_order)


def equal_in_any_order(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """True if both have equal arrays in any order. First values differ between arrays."""

    def ordered(arrays: Sequence[Any]) -> list[Any]:
        return sorted(arrays, key=lambda array: int(array[0]))

    return equal(ordered(ours), ordered(theirs))


def _batch(request: Request) -> dict[str, list[Any]]:
    return {name: [value] for name, value in request.items()}


def _hand_grpc(port: HandPort, requests: Sequence[Request]) -> list[Any]:
    arrived = Arrivals(REQUESTS)

    def callback(result: Any, error: Any) -> None:
        arrived.add(result.as_numpy("OUTPUT0")[0])

    for request in requests:
        inputs, wanted = port.inputs(_batch(request)), port.outputs(["OUTPUT0"])
        port.client.async_infer("simple", inputs, callback, outputs=wanted)
    return arrived.wait()


def _hand_http(port: HandPort, requests: Sequence[Request]) -> list[Any]:
    """Return the results. ``async_infer`` sleeps 10 ms per request, with any ``concurrency``."""
    sent = []
    for request in requests:
        inputs, wanted = port.inputs(_batch(request)), port.outputs(["OUTPUT0"])
        sent.append(port.client.async_infer("simple", inputs, outputs=wanted))
    return [request.get_result().as_numpy("OUTPUT0")[0] for request in sent]


def sequence(url: str, protocol: int, closing: ExitStack) -> Workload:
    """Make a sequence of 10,000 steps on a gRPC stream, without waiting between the steps."""
    ctx = InferContext(url, protocol, "sequence_sum", streaming=True)
    closing.callback(ctx.close)
    value = [np.ones(1, dtype=np.int32)]
    ids = itertools.count(1)

    def facade() -> list[Any]:
        arrived = Arrivals(STEPS)

        def callback(context: InferContext, request_id: int) -> None:
            arrived.add(context.get_async_run_results(request_id)["OUTPUT"][0])

        sequence_id = next(ids)
        for step in range(STEPS):
            flags = START if step == 0 else END if step == STEPS - 1 else 0
            ctx.async_run(callback, {"INPUT": value}, {"OUTPUT": RAW}, 1, flags, sequence_id)
        return arrived.wait()

    port = HandPort(url, protocol, closing)
    programs: dict[str, Call] = {
        "facade": facade,
        "hand": lambda: _hand_sequence(port, value, next(ids)),
        "bare": bare.streamed(facade, url, closing),
    }
    return Workload(programs, equal)


def _hand_sequence(port: HandPort, value: list[Any], sequence_id: int) -> list[Any]:
    arrived = Arrivals(STEPS)
    with port.module.InferenceServerClient(port.url) as client:
        client.start_stream(lambda result, error: arrived.add(result.as_numpy("OUTPUT")[0]))
        for step in range(STEPS):
            client.async_stream_infer(
                "sequence_sum",
                port.inputs({"INPUT": value}),
                outputs=port.outputs(["OUTPUT"]),
                sequence_id=sequence_id,
                sequence_start=step == 0,
                sequence_end=step == STEPS - 1,
            )
        results = arrived.wait()
        client.stop_stream()
    return results


ROWS = (
    Row("1000 async requests in flight", {"gRPC": 1 / 1.2, "HTTP": 1 / 5}, in_flight),
    Row("10k-step pipelined streamed sequence", {"gRPC": 1.0}, sequence),
)
