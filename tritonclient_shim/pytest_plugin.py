"""pytest plugin: the usage report of a test suite, and tests that fail on chosen ids.

``--tritonshim-report=usage.txt`` writes what the suite uses of the old API, with the uses of
pytest-xdist's workers;
``--tritonshim-fail-on=TS050,TS051`` (or ``all``) fails each test that uses one of these.
Without either it does nothing.

The fixture ``tritonshim_server`` serves models inside the process (``tritonclient_shim.testing``).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping

import pytest

if TYPE_CHECKING:
    from tritonclient_shim.testing import Server
    from tritonclient_shim.usage import Recorder, Use

_NAME = "tritonclient-shim-accounting"


@pytest.fixture
def tritonshim_server() -> Iterator[Callable[..., Server]]:
    """Yield ``tritonclient_shim.testing.server``, which serves until the end of the test."""
    from tritonclient_shim import testing

    with ExitStack() as stack:
        yield lambda *models, **named: stack.enter_context(testing.server(*models, **named))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("tritonclient-shim", "uses of the retired tensorrtserver API")
    group.addoption(
        "--tritonshim-report",
        metavar="PATH",
        help="write the usage report there; its ending says how: .txt or .json",
    )
    group.addoption(
        "--tritonshim-fail-on",
        metavar="IDS",
        help="fail each test that uses one of these, such as TS050,TS051; or all",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start counting when one of the options is given."""
    from tritonclient_shim.settings import report_problem

    path = config.getoption("tritonshim_report")
    ids = config.getoption("tritonshim_fail_on")
    problem = report_problem(path or "")
    if problem:
        raise pytest.UsageError(f"--tritonshim-report {path}: {problem}")
    if path or ids:
        accounting = _Accounting(config, path or "", _chosen(ids or ""))
        config.pluginmanager.register(accounting, _NAME)


def _chosen(text: str) -> frozenset[str]:
    from tritonclient_shim.registry import ENTRIES

    ids = {part.strip().upper() for part in text.split(",") if part.strip()}
    strange = sorted(ids - {*ENTRIES, "ALL"})
    if strange:
        raise pytest.UsageError(f"--tritonshim-fail-on: no such id: {', '.join(strange)}")
    return frozenset(ENTRIES) if "ALL" in ids else frozenset(ids)


class _Accounting:
    """Counts uses during the whole run, and looks for forbidden ones after each test."""

    def __init__(self, config: pytest.Config, path: str, forbidden: frozenset[str]) -> None:
        from tritonclient_shim import notice, usage
        from tritonclient_shim.usage import Recorder

        #: What a worker of pytest-xdist hands over at its end; None in other processes.
        self._worker_output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        #: The workers that have not handed over their uses.
        self._silent_workers: list[str] = []
        self._path = path
        self._forbidden = forbidden
        self._recorder: Recorder = Recorder()
        self._before: Mapping[Use, int] = {}
        usage.start(self._recorder)
        notice.forget()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Note the counts before the test's fixtures are set up: their uses are the test's."""
        self._before = self._recorder.counts()

    @pytest.hookimpl(trylast=True)  # after the test itself, unless that has failed
    def pytest_runtest_call(self) -> None:
        """Fail the test if it, or a fixture set up for it, has used a forbidden symbol."""
        uses = self._new(self._before)
        if uses:
            pytest.fail("\n".join(["uses of the retired API:", *uses]), pytrace=False)

    def _new(self, before: Mapping[Use, int]) -> list[str]:
        from tritonclient_shim.registry import ENTRIES
        from tritonclient_shim.usage.rows import relative

        return [
            f"  {use.id} {ENTRIES[use.id].symbol} at {relative(use.file)}:{use.line}, "
            f"instead: {ENTRIES[use.id].successor}"
            for use, count in self._recorder.counts().items()
            if use.id in self._forbidden and count > before.get(use, 0)
        ]

    @pytest.hookimpl(trylast=True)  # after the fixtures of the session
    def pytest_sessionfinish(self) -> None:
        """Hand the uses of a worker of pytest-xdist to the controller."""
        if self._worker_output is not None:
            counts = self._recorder.counts()
            self._worker_output[_NAME] = [[*use, count] for use, count in counts.items()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Note that a worker starts, and that its uses are not known."""
        self._silent_workers.append(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Count the uses of a worker that has ended. One that crashed hands over none."""
        from tritonclient_shim.usage import Use

        uses = getattr(node, "workeroutput", {}).get(_NAME)
        if uses is not None:
            self._silent_workers.remove(node.gateway.id)
            self._recorder.add({Use(id, file, line): count for id, file, line, count in uses})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the summary as one line, and write the report."""
        from tritonclient_shim.usage import report
        from tritonclient_shim.usage.rows import rows_of, summary

        if self._worker_output is not None:  # a worker has a terminal reporter, too
            return
        rows = rows_of(self._recorder.counts())
        scope = self._scope()
        if self._silent_workers and not rows:  # "No use" may be wrong
            terminalreporter.write_line(f"tritonclient-shim: no report is written. {scope}")
            return
        terminalreporter.write_line(f"tritonclient-shim: {summary(rows)} {scope}")
        if self._path:
            report.write(rows, self._path, scope)

    def _scope(self) -> str:
        """Return which uses are counted, and which are not known."""
        if not self._silent_workers:
            return "Processes that tests start are not counted."
        names = ", ".join(self._silent_workers)
        return f"INCOMPLETE: {names} ended without handing over the uses; run the tests again."

    def pytest_unconfigure(self) -> None:
        """Stop counting."""
        from tritonclient_shim import usage

        usage.stop()
