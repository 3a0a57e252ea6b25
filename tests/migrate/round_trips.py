"""Run the legacy programs before and after their migration."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Callable, NamedTuple

from testbed import TritonServer
from tests.migrate.migrating import Migration, migrate, migrated
from tests.migrate.running import Ended, Runner, copy, runner
from tests.migrate.table import PROGRAMS, Program


class Case(NamedTuple):
    """A program on one of its protocols."""

    program: Program
    protocol: str

    def __str__(self) -> str:
        return f"{self.program.name}-{self.protocol}"


CASES = [Case(program, protocol) for program in PROGRAMS for protocol in program.protocols]
#: Protocol and ``unsafe`` of the migrations. A safe rewrite is safe on both protocols.
WAYS = [("grpc", True), ("http", True), ("grpc", False)]
NAMES = ["-".join((protocol, "unsafe" if unsafe else "safe")) for protocol, unsafe in WAYS]
SAFE_CASES = [case for case in CASES if (case.protocol, False) in WAYS]


class Trip(NamedTuple):
    """The results of a program and of its migrated copies."""

    legacy: Ended
    migrated: dict[bool, Ended]  # with unsafe rewrites, and without


class RoundTrips:
    """The programs, migrated once for each of ``WAYS``. ``trip`` runs them on demand."""

    def __init__(self, server: TritonServer, folder: Path) -> None:
        self._folder, self.server = folder, server
        self._runner = self._new_runner()
        self.migration = lru_cache(maxsize=None)(self._migration)
        self._trips: dict[str, Trip] = {}

    def again(self, protocol: str, unsafe: bool) -> None:
        """Migrate the migrated programs again."""
        migrate(self.migration(protocol, unsafe).folder, protocol, unsafe)

    def originals(self) -> Path:
        """Return a folder with a copy of each program as it is."""
        folder = self._folder / "originals"
        for program in PROGRAMS:
            copy(program, folder)
        return folder

    def _new_runner(self) -> Runner:
        without = self._folder / "without"
        without.mkdir()
        addresses = {name: self.server.url(name) for name in ("http", "grpc")}
        return runner(addresses, without)

    def _migration(self, protocol: str, unsafe: bool) -> Migration:
        folder = self._folder / f"{protocol}-{'unsafe' if unsafe else 'safe'}"
        return migrated(PROGRAMS, folder, protocol, unsafe)

    def trip(self, case: Case) -> Trip:
        """Return the results of a program and of its copies. Run them once."""
        if str(case) not in self._trips:
            self._trips[str(case)] = self._trip(case)
        return self._trips[str(case)]

    def _trip(self, case: Case) -> Trip:
        """Run all copies, in parallel if they do not disturb each other."""
        program, protocol = case
        place = copy(program, self._folder / "legacy")
        ways = [unsafe for name, unsafe in WAYS if name == protocol]
        jobs: list[Callable[[], Ended]] = [partial(self._runner.run, program, protocol, place)]
        jobs += [self._job(case, self.migration(protocol, unsafe)) for unsafe in ways]
        with ThreadPoolExecutor(1 if program.alone else len(jobs)) as pool:
            legacy, *others = [item.result() for item in [pool.submit(job) for job in jobs]]
        return Trip(legacy, dict(zip(ways, others)))

    def _job(self, case: Case, migration: Migration) -> Callable[[], Ended]:
        needs_us = not migration.is_complete(case.program)
        place = migration.folder / case.program.source
        return partial(self._runner.run, case.program, case.protocol, place, needs_us)
