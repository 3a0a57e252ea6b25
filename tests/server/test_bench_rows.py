"""The benchmarks' programs do the same work: those whose models every test server has."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from benchmarks import concurrent, peak, regions, workloads
from benchmarks.harness import check
from testbed import TritonServer

ROWS = {row.name: row for row in (*workloads.ROWS, *concurrent.ROWS, *regions.ROWS)}
REGIONS = "64 MB in and out, system shared memory"
QUICK = (
    "small run, 2×INT32[16]",
    "small run, 2×INT32[16], 20 in a row",
    "1k short strings in and out",
    "CLASS top-5 of 1000, batch 8",
    REGIONS,
)
ASYNCHRONOUS = (
    ("1000 async requests in flight", 0),
    ("1000 async requests in flight", 1),
    ("10k-step pipelined streamed sequence", 1),
)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of fewer requests and of fewer bytes than the benchmarks have."""
    monkeypatch.setattr(concurrent, "REQUESTS", 50)
    monkeypatch.setattr(concurrent, "STEPS", 50)
    monkeypatch.setattr(regions, "COUNT", 1000)
    monkeypatch.setattr(regions, "SIZE", 4000)


@pytest.mark.parametrize("name", QUICK)
def test_programs_agree(name: str, url: str, protocol: int) -> None:
    """The facade, the hand port and the floor of a row run, and the results are equal."""
    with ExitStack() as closing:
        workload = ROWS[name].make(url, protocol, closing)
        assert {"facade", "hand", "bare", "floor"} <= set(workload.programs)
        check(name, workload)


@pytest.mark.parametrize("name, protocol", ASYNCHRONOUS)
def test_asynchronous_programs_agree(name: str, protocol: int, triton: TritonServer) -> None:
    """Every request in flight and every step of a stream is answered alike."""
    with ExitStack() as closing:
        workload = ROWS[name].make(triton.url(protocol), protocol, closing)
        check(name, workload)
        assert len(workload.programs["facade"]()) == 50


def test_a_row_that_fails_leaves_nothing_open(url: str, protocol: int) -> None:
    """What a row opened is closed when another of its programs fails."""
    with pytest.raises(AssertionError, match="different"), ExitStack() as closing:
        workload = ROWS[QUICK[0]].make(url, protocol, closing)
        floor = workload.programs["floor"].__self__  # type: ignore[attr-defined]
        workload.programs["hand"] = list
        check(QUICK[0], workload)
    assert floor.process.returncode == 0


@pytest.mark.parametrize("program", ["facade", "hand"])
def test_peak_programs(
    program: str, url: str, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs of the memory row send the tensor and get it back."""
    monkeypatch.setattr(peak, "MEGABYTES", 1)
    with ExitStack() as closing:
        assert peak.growth(peak.PROGRAMS[program](url, protocol, closing)) >= 0
