"""The harness of the benchmarks: who runs when, for how long, and what is compared."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from typing import Any, Callable

import numpy as np
import pytest

from benchmarks import harness, peak, processes
from benchmarks.concurrent import Arrivals, equal_in_any_order
from benchmarks.floor import ROOT
from benchmarks.harness import Ratio, Row, Workload, compare, enough, equal, orders
from benchmarks.workloads import BLOCK, and_in_a_row, same_classes


def sleeping(seconds: float, result: Any = 7) -> Callable[[], Any]:
    """A program that takes so long."""

    def call() -> Any:
        time.sleep(seconds)
        return result

    return call


def same(ours: Any, theirs: Any) -> bool:
    """Plain equality."""
    return bool(ours == theirs)


def row(workload: Workload) -> Row:
    """A row of one workload."""
    return Row("a row", {"gRPC": 0.5}, lambda url, protocol, closing: workload)


@pytest.mark.parametrize(
    "rounds, passed, expected",
    [
        (harness.LEAST_PAIRS - 1, 1000.0, False),
        (harness.LEAST_PAIRS, 19.9, False),
        (harness.LEAST_PAIRS, 20.0, True),
        (30, 1.9, False),
        (30, 2.0, True),
    ],
)
def test_thirty_pairs_or_twenty_seconds(rounds: int, passed: float, expected: bool) -> None:
    """A row has at least 30 pairs or 20 seconds, and short calls are repeated for 2 seconds."""
    assert enough(rounds, passed, 20.0) is expected


def test_no_program_has_a_place_of_its_own() -> None:
    """In each cycle of orders every program is as often first, and behind each other one."""
    cycle = [order for order, _ in zip(orders(["a", "b", "c", "d"]), range(24))]
    assert len(set(cycle)) == 24
    assert cycle != sorted(cycle)


def test_ratio_is_facade_by_other_with_goals_for_the_hand_port_and_bare_only() -> None:
    """The facade's time is divided by the other's; the row says the hand port's goal."""
    programs = {"facade": sleeping(0.02), "hand": sleeping(0.002)}
    programs.update(bare=sleeping(0.002, b""), floor=sleeping(0.002, None))
    workload = Workload(programs, same)
    hand, bare, floor = compare(row(workload), "gRPC", workload, 0.1)
    assert (hand.against, bare.against, floor.against) == ("hand", "bare", "floor")
    assert (hand.goal, bare.goal, floor.goal) == (0.5, 1.15, None)
    assert hand.wall.low <= hand.wall.median <= hand.wall.high
    assert hand.wall.median > 2
    assert hand.pairs >= harness.LEAST_PAIRS


def test_other_results_end_the_benchmark() -> None:
    """A program that gets something else is an error, not a ratio."""
    workload = Workload({"facade": lambda: 1, "hand": lambda: 1, "pytriton": lambda: 2}, same)
    with pytest.raises(AssertionError, match="a row: facade and pytriton"):
        compare(row(workload), "gRPC", workload, 0.1)


def test_garbage_is_collected_before_the_clock_starts() -> None:
    """Cycles that one call leaves are gone before the next, and old objects are thawed again."""
    alive: list[int] = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self
            alive.append(1)

        def __del__(self) -> None:
            alive.pop()

    def call() -> None:
        assert not alive
        Cycle()

    samples = harness.Samples()
    for _ in range(3):
        samples.add(call)
    workload = Workload({"facade": lambda: 1, "hand": lambda: 1}, same)
    compare(row(workload), "gRPC", workload, 0.01)
    assert gc.get_freeze_count() == 0


def test_cpu_time_is_measured_apart_from_the_clock() -> None:
    """A program that waits costs wall time and no CPU time."""
    samples = harness.Samples()
    samples.add(sleeping(0.2))
    assert samples.wall[0] >= 0.2
    assert samples.cpu[0] < 0.1


def test_ratio_is_the_median_of_pairs() -> None:
    """The ratio is taken pair by pair, so that a slow moment is in both halves."""
    assert Ratio.of([1, 20, 3, 4, 50], [2, 40, 6, 8, 100]) == Ratio(0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    "other",
    [
        [np.zeros(2, np.float32)],
        [np.zeros(2, np.float32), np.ones(2, np.float32)],
        [np.zeros(2, np.float32), np.zeros(2, np.float64)],
        [],
    ],
    ids=["fewer", "values", "datatype", "none"],
)
def test_equal_sees_every_difference(other: list[Any]) -> None:
    """Results with fewer entries, other values or another datatype are not equal."""
    ours = [np.zeros(2, np.float32), np.zeros(2, np.float32)]
    first_axis: Any = np.zeros((2, 2), np.float32)
    assert equal(ours, first_axis)
    assert not equal(ours, other)
    assert not equal(other, ours)


def test_order_of_arrival_does_not_matter_in_flight() -> None:
    """Requests in flight may be answered in any order, but each with its own result."""
    a, b = np.full(2, 1), np.full(2, 2)
    assert equal_in_any_order([a, b], [b, a])
    assert not equal_in_any_order([a, b], [a, a])


def test_classes_are_compared_to_the_last() -> None:
    """CLASS results with fewer classes, another label or another index differ."""
    ours = [[(3, 0.5, "l3"), (1, 0.25, "l1")]]
    assert same_classes(ours, [[(3, 0.5000004, "l3"), (1, 0.25, "l1")]])
    assert not same_classes(ours, [[(3, 0.5, "l3")]])
    assert not same_classes(ours, [[(3, 0.5, "l3"), (1, 0.25, "l2")]])
    assert not same_classes(ours, [[(3, 0.5, "l3"), (2, 0.25, "l1")]])


def test_a_lost_callback_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that do not come end the benchmark instead of holding it up for ever."""
    monkeypatch.setattr("benchmarks.concurrent.LONGEST_WAIT", 0.01)
    arrived = Arrivals(2)
    arrived.add(1)
    with pytest.raises(TimeoutError, match="1 of 2 results"):
        arrived.wait()
    arrived.add(2)
    assert arrived.wait() == [1, 2]


def test_short_calls_are_timed_in_blocks_too() -> None:
    """Such a row is there twice; each program of the second calls the first's 20 times."""
    ran: list[str] = []

    def program(name: str) -> int:
        ran.append(name)
        return len(ran)

    programs: dict[str, Callable[[], Any]] = {
        name: partial(program, name) for name in ("facade", "hand")
    }
    single, block = and_in_a_row(row(Workload(programs, same)))
    assert (block.name, block.goals) == ("a row, 20 in a row", single.goals)
    workload = block.make("", 0, ExitStack())
    assert workload.same is same
    assert [workload.programs[name]() for name in ("facade", "hand")] == [20, 40]
    assert ran == ["facade"] * BLOCK + ["hand"] * BLOCK


def test_processes_take_turns() -> None:
    """Figures from processes of their own are interleaved too, neither always first."""
    ran: list[str] = []

    def program(name: str) -> float:
        ran.append(name)
        return 1.0

    programs: dict[str, Callable[[], float]] = {
        name: partial(program, name) for name in ("facade", "hand")
    }
    assert processes.in_turns(programs, 4) == {"facade": [1.0] * 4, "hand": [1.0] * 4}
    rounds = [ran[i : i + 2] for i in range(0, 8, 2)]
    assert rounds.count(["facade", "hand"]) == rounds.count(["hand", "facade"]) == 2


def test_peak_grows_by_what_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The growth is that of the call: not of the tensor sent, nor of the verification."""
    monkeypatch.setattr(peak, "MEGABYTES", 8)
    peaks = iter([100, 700])
    monkeypatch.setattr(peak, "_peak", lambda: next(peaks))
    assert peak.growth(lambda array: array.copy()) == 600


def test_peak_reads_its_process() -> None:
    """What is measured is the resident memory of the process itself, in bytes."""
    program = (
        "import numpy; from benchmarks.peak import _peak; before = _peak()\n"
        "kept = numpy.ones(100 * 2**20, numpy.uint8); print(_peak() - before)"
    )
    grown = int(subprocess.check_output([sys.executable, "-c", program], cwd=ROOT))
    assert 90 * 2**20 < grown < 110 * 2**20


def test_peak_verifies_the_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor that comes back changed is an error, not a figure."""
    monkeypatch.setattr(peak, "MEGABYTES", 1)
    with pytest.raises(AssertionError, match="changed"):
        peak.growth(lambda array: array + 1)
