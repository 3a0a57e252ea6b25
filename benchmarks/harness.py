"""Run programs in turns, and compare them pair by pair.

CPU time is ``time.process_time``: of this process with all its threads, without the server.
"""

from __future__ import annotations

import gc
import itertools
import random
import statistics
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: A workload ends after this many rounds or seconds.
PAIRS = 30
SECONDS = 20.0
#: A workload runs at least this long, for a spread of the ratios and many repeated short calls.
LEAST_PAIRS = 4
LEAST_SECONDS = 2.0
WARM_UP_SECONDS = 0.5
#: Seconds that a program waits for its results.
LONGEST_WAIT = 120.0

#: A call of a program. Its results are compared with the results of other programs.
Call = Callable[[], Any]

#: The highest accepted facade ÷ bare, by wall time.
BARE_GOAL = 1.15


@dataclass(frozen=True)
class Workload:
    """Several programs that do the same work over one protocol.

    ``programs`` maps ``facade``, ``hand``, ``bare`` and further names to calls. ``same`` is true if
    two results are equal.
    """

    programs: dict[str, Call]
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Row:
    """A row of the table.

    ``goals`` maps names of protocols to the highest accepted facade ÷ hand, by wall time. ``make``
    takes a server's address, the protocol's number, and a stack of objects to close.
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
        """Time one call, after collecting the garbage of earlier calls."""
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of neighbouring runs, and the quartiles."""

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
    """The facade against another program."""

    workload: str
    protocol: str
    against: str
    pairs: int
    wall: Ratio
    cpu: Ratio | None
    goal: float | None


def compare(row: Row, protocol: str, workload: Workload, seconds: float) -> list[Comparison]:
    """Run a workload's programs in turns, and return the comparisons.

    Raise AssertionError if two programs get different results.
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
    """Yield the order of each round: all permutations, shuffled, again and again.

    So no program runs mostly first, or mostly after one program.
    """
    every = list(itertools.permutations(names))
    shuffle = random.Random(7).shuffle
    while True:
        shuffle(every)
        yield from every


@contextmanager
def _old_objects_frozen() -> Iterator[None]:
    """Leave present objects out of garbage collections, so that each collection is cheap."""
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
    """Run every program once. Raise AssertionError if a result differs from the facade's."""
    results = {name: call() for name, call in workload.programs.items()}
    for program, result in results.items():
        if program != "bare" and not workload.same(results["facade"], result):
            raise AssertionError(f"{name}: facade and {program} got different results")


def equal(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """True if both have equal arrays. Each is a list of arrays, or an array of rows."""
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
