"""Runs programs in turns and compares them pair by pair."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any, Callable

#: A workload ends after so many rounds, or after so many seconds if that comes first.
PAIRS = 30
SECONDS = 20.0
#: … but never before it has a spread to show, or before short calls have been repeated often.
LEAST_PAIRS = 4
LEAST_SECONDS = 2.0
WARM_UP_SECONDS = 0.5

#: One call of a program; returns what the program got, to be compared with the others'.
Call = Callable[[], Any]

#: Programs that move the same bytes but compute nothing: their results are not compared.
NOT_COMPARED = ("floor",)


@dataclass(frozen=True)
class Workload:
    """One row of the table: the same work as several programs, on one protocol.

    ``programs`` maps ``facade``, ``hand`` and further names to calls; ``same`` says whether two
    of their results are equal. ``goal`` is the most that facade ÷ hand may be, wall time.
    """

    name: str
    protocol: str
    programs: dict[str, Call]
    same: Callable[[Any, Any], bool]
    goal: float
    close: Callable[[], None] = lambda: None


@dataclass
class Samples:
    """Seconds of one program's calls, by the wall clock and by the CPU of this process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Time one call."""
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
    def of(cls, ours: list[float], theirs: list[float]) -> Ratio:
        """The ratio pair by pair."""
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


def compare(workload: Workload, seconds: float = SECONDS) -> list[Comparison]:
    """Run a workload's programs in turns; see PAIRS and SECONDS.

    AssertionError when two programs disagree on a result. The order within a round changes
    from round to round, so that none always runs behind the same other.
    """
    check(workload)
    _warm_up(workload)
    samples = {name: Samples() for name in workload.programs}
    names, rounds, start = list(workload.programs), 0, time.monotonic()
    while not _enough(rounds, time.monotonic() - start, seconds):
        for name in names[rounds % len(names) :] + names[: rounds % len(names)]:
            samples[name].add(workload.programs[name])
        rounds += 1
    workload.close()
    return [_compare(workload, samples, name) for name in names if name != "facade"]


def _enough(rounds: int, passed: float, seconds: float) -> bool:
    if rounds < LEAST_PAIRS:
        return False
    return passed >= seconds or (rounds >= PAIRS and passed >= min(LEAST_SECONDS, seconds))


def _warm_up(workload: Workload) -> None:
    end = time.monotonic() + WARM_UP_SECONDS
    while time.monotonic() < end:
        for call in workload.programs.values():
            call()


def check(workload: Workload) -> None:
    """AssertionError unless every program gets what the facade gets."""
    results = {name: call() for name, call in workload.programs.items() if name not in NOT_COMPARED}
    for name, result in results.items():
        if not workload.same(results["facade"], result):
            raise AssertionError(
                f"{workload.name} ({workload.protocol}): facade and {name} got different results"
            )


def _compare(workload: Workload, samples: dict[str, Samples], against: str) -> Comparison:
    ours, theirs = samples["facade"], samples[against]
    return Comparison(
        workload.name,
        workload.protocol,
        against,
        len(ours.wall),
        Ratio.of(ours.wall, theirs.wall),
        Ratio.of(ours.cpu, theirs.cpu),
        workload.goal if against == "hand" else None,
    )
