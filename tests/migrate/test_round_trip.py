"""A migrated program does what it did before, on the real server, over both protocols."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tests.migrate.migrating import TODO
from tests.migrate.round_trips import CASES, NAMES, SAFE_CASES, WAYS, Case, RoundTrips
from tests.migrate.table import PROGRAMS, STYLES_FOLDER
from tritonclient_shim.migrate.files import scan
from tritonclient_shim.scan import sources

#: ``run`` and ``async_run`` in its forms.
REQUESTS = ("TS051", "TS052", "TS053", "TS054")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_program_does_the_same(round_trips: RoundTrips, case: Case) -> None:
    """A program prints as before migration; without our package if it is complete."""
    trip = round_trips.trip(case)
    assert trip.legacy.status == case.program.status, trip.legacy.err
    assert trip.legacy.out
    migrated = trip.migrated[True]
    assert migrated[:2] == trip.legacy[:2], migrated.err


@pytest.mark.parametrize("case", SAFE_CASES, ids=str)
def test_half_migrated_program_does_the_same(round_trips: RoundTrips, case: Case) -> None:
    """After the safe rewrites only, a program still runs and prints as before."""
    trip = round_trips.trip(case)
    migrated = trip.migrated[False]
    assert migrated[:2] == trip.legacy[:2], migrated.err


@pytest.mark.parametrize(("protocol", "unsafe"), WAYS, ids=NAMES)
def test_every_use_is_told(round_trips: RoundTrips, protocol: str, unsafe: bool) -> None:
    """The report has each use that scan reports for the programs, with its outcome."""
    migration = round_trips.migration(protocol, unsafe)
    assert migration.status in (0, 1), migration.err
    place = round_trips.originals()
    uses = {
        (path.parts[len(place.parts)], row.entry.id)
        for path in _sources(place)
        for row in scan(sources.read(str(path)))
    }
    assert {(site.source, site.id) for site in migration.sites} == uses


@pytest.mark.parametrize(("protocol", "unsafe"), WAYS, ids=NAMES)
def test_nothing_is_left_in_complete_programs(
    round_trips: RoundTrips, protocol: str, unsafe: bool
) -> None:
    """Scan reports no uses in a program that migrate reports as complete."""
    migration = round_trips.migration(protocol, unsafe)
    complete = {item.source for item in PROGRAMS if migration.is_complete(item)}
    paths = [path for name in complete for path in _sources(migration.folder / name)]
    uses = [f"{path}:{row.line}" for path in paths for row in scan(sources.read(str(path)))]
    assert uses == []


@pytest.mark.parametrize(("protocol", "unsafe"), WAYS, ids=NAMES)
def test_second_migration_changes_nothing(
    round_trips: RoundTrips, protocol: str, unsafe: bool
) -> None:
    """A second migration leaves the files as they are."""
    migration = round_trips.migration(protocol, unsafe)
    before = _digests(migration.folder)
    round_trips.again(protocol, unsafe)
    assert _digests(migration.folder) == before


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_most_uses_are_rewritten(round_trips: RoundTrips, protocol: str) -> None:
    """At least 90 % of the uses, and 92 % of the requests, are rewritten in real styles."""
    real = {program.source for program in PROGRAMS if STYLES_FOLDER in program.files[0].parents}
    # they show what stays, and why
    real -= {"fetched_elsewhere", "formats_elsewhere", "sorted_requests"}
    uses = [x for x in round_trips.migration(protocol, True).sites if x.source in real]
    left = Counter(site.id for site in uses if site.outcome == TODO)
    print(left.most_common())  # pytest -rP shows it
    assert sum(left.values()) <= 0.1 * len(uses)
    assert sum(left[id] for id in REQUESTS) <= 0.08 * sum(x.id in REQUESTS for x in uses)


def _sources(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.suffix in (".py", ".ipynb"))
    return sorted(path for path in paths if not path.name.startswith("_"))


def _digests(folder: Path) -> dict[str, str]:
    return {str(item): hashlib.sha1(item.read_bytes()).hexdigest() for item in _sources(folder)}
