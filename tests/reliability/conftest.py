"""Counts what the tests of this folder try, and writes the figures of a long run down."""

from __future__ import annotations

import platform
import re
from datetime import date
from importlib.metadata import version
from typing import Any, Iterator

import pytest

from tests.reliability.amounts import profile
from tests.reliability.figures import PAGE, Figure, Figures, Tried, with_figures
from tests.reliability.fuzzing import SEED

_figures = Figures()


def _test_of(item: pytest.Item) -> str:
    """``test_faults.py::test_fault``, without parameters."""
    return re.sub(r"\[.*", "", item.nodeid).rpartition("reliability/")[2]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most rows of a large table to ``--all`` and ``--long``: each seventh is a sample."""
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
    """Notes down what the test has tried; it counts when the test passes."""
    noted: list[Figure] = []

    def note(promise: str, amount: int, unit: str) -> None:
        noted.append(Figure(promise, _test_of(request.node), amount, unit))

    yield note
    _figures.kept += noted


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Count the tests of this folder that failed."""
    outcome: Any = yield
    if outcome.get_result().failed and "reliability/" in item.nodeid:
        name = _test_of(item)
        _figures.failed[name] = _figures.failed.get(name, 0) + 1


def pytest_report_header() -> str:
    """How a run with other examples than the short profile's can be repeated."""
    return "" if profile() == "short" else f"fuzzed with RELIABILITY_SEED={SEED}"


def pytest_sessionfinish() -> None:
    """Write what a long run has tried into docs/reliability.md."""
    if profile() == "short" or not _figures.kept:
        return
    measured = (
        f"{date.today()}, profile `{profile()}`, Python {platform.python_version()}, "
        f"tritonclient {version('tritonclient')}, grpcio {version('grpcio')}"
    )
    page = PAGE.read_text("utf-8")
    PAGE.write_text(with_figures(page, _figures.rows(measured)), "utf-8")
