"""Runs programs in turns and compares them pair by pair.

CPU time is that of this process, all its threads included (``time.process_time``): what the
client's machine spends. The server's, and that of the floor's other end, are not in it.
"""

from __future__ import annotations

import gc
import itertools
import random
import statistics
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Sequence

import numpy as np

#: A workload ends after so many rounds, or after so many seconds if that comes first.
PAIRS = 30
SECONDS = 20.0
#: … but never before it has a spread to show, or before short calls have been repeated often.
LEAST_PAIRS = 4
LEAST_SECONDS = 2.0
WARM_UP_SECONDS = 0.5
#: Seconds that a program waits for results that are on their way.
LONGEST_WAIT = 120.0

#: One call of a program; returns what the program got, to be compared with the others'.
Call = Callable[[], Any]

#: Programs that move the same bytes but compute nothing: their results are not compared.
NOT_COMPARED = ("bare", "floor")
#: The most that facade ÷ bare may be in every row, wall time.
BARE_GOAL = 1.15


@dataclass(frozen=True)
class Workload:
    """The same work as several programs, on one protocol.

    ``programs`` maps ``facade``, ``hand``, ``bare`` and further names to calls; ``same`` says
    whether two of their results are equal.
    """

    programs: dict[str, Call]
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Row:
    """One row of the table.

    ``goals`` maps the names of the protocols that have this row to the most that facade ÷ hand
    may be there, wall time. ``make`` takes a server's address, the protocol's number, and a stack
    for whatever has to be closed after the workload.
    """

    name: str
    goals: dict[str, float]
    make: Callable[[str, int, ExitStack], Workload]


@dataclass
class Samples:
    """Seconds of one program's calls, by the wall clock and by the CPU of this process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Time one call. The garbage of the one before is not this one's to collect."""
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)


@dataclass(frozen=True)
class Ratio:
    """Median of the ratios of neighbouring runs, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
        """Return the ratio of each pair."""
        low, median, high = statistics.quantiles(
            [a / max(b, 1e-9) for a, b in zip(ours, theirs)], n=4
        )
        return cls(median, low, high)


@dataclass(frozen=True)
class Comparison:
    """The facade against one other program."""

    workload: str
    protocol: str
    against: str
    pairs: int
    wall: Ratio
    cpu: Ratio | None
    goal: float | None


def compare(row: Row, protocol: str, workload: Workload, seconds: float) -> list[Comparison]:
    """Run a workload's programs in turns; see PAIRS and SECONDS.

    AssertionError when two programs disagree on a result.
    """
    _warm_up(row, workload)
    samples = {name: Samples() for name in workload.programs}
    rounds, start = 0, time.monotonic()
    with _old_objects_frozen():
        for order in orders(list(workload.programs)):
            for name in order:
                samples[name].add(workload.programs[name])
            rounds += 1
            if enough(rounds, time.monotonic() - start, seconds):
                break
    others = [name for name in samples if name != "facade"]
    return [_compare(row, protocol, samples, name) for name in others]


def enough(rounds: int, passed: float, seconds: float) -> bool:
    """True if a workload has run long enough."""
    if rounds < LEAST_PAIRS:
        return False
    return passed >= seconds or (rounds >= PAIRS and passed >= min(LEAST_SECONDS, seconds))


def orders(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the order of each round: all that there are, shuffled, then all of them again.

    So none runs mostly first, or mostly behind the same other.
    """
    every = list(itertools.permutations(names))
    shuffle = random.Random(7).shuffle
    while True:
        shuffle(every)
        yield from every


@contextmanager
def _old_objects_frozen() -> Iterator[None]:
    """Leave what exists already out of garbage collections: one before each call is then cheap."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _warm_up(row: Row, workload: Workload) -> None:
    end = time.monotonic() + WARM_UP_SECONDS
    check(row.name, workload)
    while time.monotonic() < end:
        for call in workload.programs.values():
            call()


def check(name: str, workload: Workload) -> None:
    """Run every program once; AssertionError unless each gets what the facade gets."""
    results = {name: call() for name, call in workload.programs.items()}
    for program, result in results.items():
        if program not in NOT_COMPARED and not workload.same(results["facade"], result):
            raise AssertionError(f"{name}: facade and {program} got different results")


def equal(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """As many, of the same datatypes and values; a list in one, the first axis in the other."""
    if len(ours) != len(theirs):
        return False
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs)]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _compare(row: Row, protocol: str, samples: dict[str, Samples], against: str) -> Comparison:
    ours, theirs = samples["facade"], samples[against]
    return Comparison(
        row.name,
        protocol,
        against,
        len(ours.wall),
        Ratio.of(ours.wall, theirs.wall),
        Ratio.of(ours.cpu, theirs.cpu),
        {"hand": row.goals[protocol], "bare": BARE_GOAL}.get(against),
    )
