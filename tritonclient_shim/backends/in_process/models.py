"""One model of a server in this process: its versions at work, their sequences and statistics."""

from __future__ import annotations

import threading
import time
from typing import Any

from tritonclient_shim.backends.in_process.declared import Arrays, Model, Sequence
from tritonclient_shim.core import forks
from tritonclient_shim.core.errors import ServerFault
from tritonclient_shim.core.model import BatchStatistics, Duration, InferCall, ModelStatistics


class RunningModel:
    """A model by its name. Any thread may call; at most ``instances`` requests run at once."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.model = model
        self.loaded = model.loaded
        self.ever_loaded = model.loaded
        self._lock = forks.Lock()
        self._sequences: dict[tuple[int, int], dict[str, Any]] = {}
        self._statistics: dict[int, _Counted] = {number: _Counted() for number in model.versions}
        self.after_fork()
        forks.repair(self)

    def after_fork(self) -> None:
        """Have every instance free, in a forked child too: its parent's requests run elsewhere."""
        self._instances = threading.BoundedSemaphore(self.model.instances)

    def load(self) -> None:
        """Load the model, or load it again: open sequences are lost."""
        self.loaded = self.ever_loaded = True
        self._sequences.clear()

    def version(self, asked: str) -> int:
        """The version of a request; '' is the latest. Raises ServerFault."""
        unknown = f"Request for unknown model: '{self.name}'"
        if not self.loaded:
            raise ServerFault(f"{unknown} has no available versions", "NOT_FOUND")
        if asked and not (asked.isdigit() and int(asked) in self.model.versions):
            raise ServerFault(f"{unknown} version {asked} is not found", "NOT_FOUND")
        return int(asked) if asked else max(self.model.versions)

    def run(self, version: int, inputs: Arrays, call: InferCall) -> Arrays:
        """Call the function and count the call. Raises ServerFault."""
        began = time.monotonic_ns()
        rows = len(next(iter(inputs.values()))) if self.model.max_batch_size else 1
        try:
            with self._instances:
                started = time.monotonic_ns()
                found = self._called(version, inputs, call)
        except ServerFault:
            self._count(version, 0, began, began)
            raise
        self._count(version, rows, began, started)
        return found

    def _called(self, version: int, inputs: Arrays, call: InferCall) -> Arrays:
        arguments: list[Any] = [inputs]
        if self.model.stateful:
            arguments.append(self._sequence(version, call))
        try:
            found = self.model.versions[version](*arguments)
        except ServerFault:
            raise
        except Exception as error:  # whatever a function raises is an answer
            raise ServerFault(
                f"Failed to process the request(s) for model '{self.name}_0_0', message: "
                f"{type(error).__name__}: {error}",
                "INTERNAL",
            ) from error
        names = {one.name for one in self.model.outputs}
        if not isinstance(found, dict) or not names.issuperset(found):
            shown = sorted(map(str, found)) if isinstance(found, dict) else type(found).__name__
            raise ServerFault(
                f"the function of model '{self.name}' returned {shown}; expected a dict with "
                f"arrays for {sorted(names)}",
                "INTERNAL",
            )
        return found

    def _sequence(self, version: int, call: InferCall) -> Sequence:
        """The sequence of a request, begun or continued (docs/v2-mapping.md §4)."""
        number, key = call.sequence_id, (version, call.sequence_id)
        if not number:
            raise ServerFault(
                f"inference request to model '{self.name}' must specify a non-zero or non-empty "
                "correlation ID",
                "INVALID_ARGUMENT",
            )
        with self._lock:
            if call.sequence_start:
                self._sequences[key] = {}
            elif key not in self._sequences:
                raise ServerFault(
                    f"inference request for sequence {number} to model '{self.name}' must specify "
                    "the START flag on the first request of the sequence",
                    "INVALID_ARGUMENT",
                )
            state = self._sequences[key]
            if call.sequence_end:
                del self._sequences[key]
        return Sequence(number, call.sequence_start, call.sequence_end, state)

    def _count(self, version: int, rows: int, began: int, started: int) -> None:
        with self._lock:
            self._statistics[version].add(rows, began, started, time.monotonic_ns())

    def statistics(self) -> tuple[ModelStatistics, ...]:
        """What has been counted, one entry per version."""
        with self._lock:
            return tuple(
                one.statistics(self.name, str(version)) for version, one in self._statistics.items()
            )


class _Counted:
    """The counts of one version."""

    def __init__(self) -> None:
        self._last_ms = 0
        self._succeeded = self._failed = self._queued = Duration()
        self._computed: dict[int, Duration] = {}

    def add(self, rows: int, began: int, started: int, ended: int) -> None:
        """Count a request of so many rows, 0 for one that failed; times in nanoseconds."""
        if not rows:
            self._failed = _plus(self._failed, ended - began)
            return
        self._last_ms = time.time_ns() // 1_000_000
        self._succeeded = _plus(self._succeeded, ended - began)
        self._queued = _plus(self._queued, started - began)
        self._computed[rows] = _plus(self._computed.get(rows, Duration()), ended - started)

    def statistics(self, name: str, version: str) -> ModelStatistics:
        """As the statistics extension tells them."""
        count = sum(one.count for one in self._computed.values())
        compute = Duration(count, sum(one.ns for one in self._computed.values()))
        none = Duration(count)
        return ModelStatistics(
            name,
            version,
            self._last_ms,
            inference_count=sum(rows * one.count for rows, one in self._computed.items()),
            execution_count=count,
            success=self._succeeded,
            fail=self._failed,
            queue=self._queued,
            compute_input=none,
            compute_infer=compute,
            compute_output=none,
            batches=tuple(
                BatchStatistics(rows, Duration(one.count), one, Duration(one.count))
                for rows, one in sorted(self._computed.items())
            ),
        )


def _plus(known: Duration, ns: int) -> Duration:
    return Duration(known.count + 1, known.ns + max(1, ns))
