"""Fixtures that count the attempts of the tests here, and write the table of a long run."""

from __future__ import annotations

import platform
import re
from datetime import date
from importlib.metadata import version
from typing import Any, Iterator

import pytest

from tests.gateway.conftest import behind, gateway  # noqa: F401 (fixtures)
from tests.reliability.amounts import profile
from tests.reliability.counts import PAGE, Count, Counts, Tried, with_counts
from tests.reliability.fuzzing import SEED

_counts = Counts()


def _test_of(item: pytest.Item) -> str:
    """Return the name of a test, such as ``test_faults.py::test_fault``, without parameters."""
    return re.sub(r"\[.*", "", item.nodeid).rpartition("reliability/")[2]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deselect most rows of a large table, except in ``--all`` and ``--long``.

    Keep each seventh row.
    """
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "reliability/" in item.nodeid:
            rows.setdefault(_test_of(item), []).append(item)
    for table in rows.values():
        step = min(7, max(1, len(table) // 2))
        for number, item in enumerate(table):
            if number % step:
                item.add_marker("release")


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Iterator[Tried]:
    """Record the test's attempts. They count if the test passes."""
    noted: list[Count] = []

    def note(promise: str, amount: int, unit: str) -> None:
        noted.append(Count(promise, _test_of(request.node), amount, unit))

    yield note
    _counts.kept += noted


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Count the tests of this folder that failed."""
    outcome: Any = yield
    if outcome.get_result().failed and "reliability/" in item.nodeid:
        name = _test_of(item)
        _counts.failed[name] = _counts.failed.get(name, 0) + 1


def pytest_report_header() -> str:
    """Return how to repeat a run whose examples are not the short profile's."""
    return "" if profile() == "short" else f"fuzzed with RELIABILITY_SEED={SEED}"


def pytest_sessionfinish() -> None:
    """Write the counts of a long run into docs/reliability.md."""
    if profile() == "short" or not _counts.kept:
        return
    measured = (
        f"{date.today()}, profile `{profile()}`, Python {platform.python_version()}, "
        f"tritonclient {version('tritonclient')}, grpcio {version('grpcio')}"
    )
    page = PAGE.read_text("utf-8")
    PAGE.write_text(with_counts(page, _counts.rows(measured)), "utf-8")
