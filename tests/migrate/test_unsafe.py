"""What ``--unsafe`` changes: each such use names a row of the table in docs/migrate.md."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR, migrated
from tests.migrate.table import PROGRAMS_FOLDER, STYLES_FOLDER
from tests.migrate.test_printed import PRINTING
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import Migrated, migrate
from tritonclient_shim.migrate.options import MigrateOptions, SiteOutcome, State
from tritonclient_shim.migrate.program import Program
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of

_PAGE = Path(__file__).parents[2] / "docs" / "migrate.md"
_MIGRATE = Path(__file__).parents[2] / "tritonclient_shim" / "migrate"
_ROW = re.compile(r"\| (\d+) \| (.*?) \| (.*?) \|")
_FOLDERS = (PROGRAMS_FOLDER, STYLES_FOLDER)
_FETCHED = "ctx.get_async_run_results(ctx.async_run({}, {}, 1), True)"
_MAY_STREAM = "c = InferContext('u', 1, 'm', streaming=x)\nc.async_run(f, i, o)\n"
#: Sources with changes that no program has.
_RARE = (
    _MAY_STREAM,
    PRINTING,
    'ServerHealthContext("u", int(p))\n',
    'def f(name):\n    return ServerStatusContext("u", 1, name)\n'
    "print(f(x).get_server_status().version)\n",
    f"{CONTEXT}ctx.get_async_run_results(ctx.async_run(i, o))\nctx.get_last_request_id()\n",
    'c = ServerHealthContext("u", 1)\nc.close()\ntry:\n    c.is_live()\n'
    "except InferenceServerException:\n    pass\n",
)
_SOURCES = [path for folder in _FOLDERS for path in sorted(folder.rglob("*.py"))]


@lru_cache(maxsize=None)
def _both(path: Path, to: str) -> tuple[Migrated, Migrated]:
    """Migrate a file without and with --unsafe."""
    data = path.read_bytes()
    is_alone = path.parent in _FOLDERS
    files = [path] if is_alone else sorted(path.parent.glob("*.py"))
    program = Program([str(file) for file in files])
    return (
        migrate(str(path), data, MigrateOptions(to), program),
        migrate(str(path), data, MigrateOptions(to, unsafe=True), program),
    )


def test_table_of_the_page() -> None:
    """The table of docs/migrate.md has the rows that reports name, in the words of reports."""
    rows = _ROW.findall(_PAGE.read_text("utf-8").partition("## What may differ")[2])
    expected = [(str(row.number), row.change, row.difference) for row in UnsafeChange]
    assert rows == expected


@pytest.mark.parametrize("to", ["grpc", "http"])
@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: path.stem)
def test_each_unsafe_change_names_its_row(path: Path, to: str) -> None:
    """Where --unsafe writes anything else, the report names a row of the table."""
    safe, unsafe = _both(path, to)
    rows = [row for _, outcome in unsafe.uses for row in outcome.rows]
    is_other = ast.dump(ast.parse(safe.after)) != ast.dump(ast.parse(unsafe.after))
    assert bool(rows) == is_other
    assert not [row for _, outcome in safe.uses for row in outcome.rows]


def test_every_row_is_used(tmp_path: Path) -> None:
    """Every row of the table is named for a use of some program."""
    sender, other = tmp_path / "sender.py", tmp_path / "other.py"
    sender.write_text(f"{STAR}{CONTEXT}def send():\n    return {_FETCHED}\n")
    other.write_text("import sender\nprint(sender.send())\n")
    program = Program([str(sender), str(other)])
    unsafe = MigrateOptions(unsafe=True)
    migrations = [_both(path, to)[1] for path in _SOURCES for to in ("grpc", "http")]
    migrations.append(migrate(str(sender), sender.read_bytes(), unsafe, program))
    migrations += [migrated(STAR + source) for source in _RARE]
    named = {row for item in migrations for _, outcome in item.uses for row in outcome.rows}
    assert set(UnsafeChange) - named == set()


def test_rules_ask_by_the_row() -> None:
    """Code that asks if the option is given names the row for which it asks."""
    sources = [path for path in _MIGRATE.rglob("*.py") if path.name != "options.py"]
    assert [path.name for path in sources if "options.unsafe" in path.read_text("utf-8")] == []


def test_outcome_without_a_row() -> None:
    """An unsafe outcome without a row is a mistake of a rule."""
    with pytest.raises(ValueError, match="names no row"):
        SiteOutcome(State.UNSAFE, "a helper")


def test_report_names_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report has the number at the use, and the words of the row once, at its end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(f"{STAR}{CONTEXT}r = ctx.run(i, o)\ns = ctx.run(i, o)\n")
    assert main(["migrate", "--check", "--unsafe", "a.py"]) == 1
    report = capsys.readouterr().out
    row = UnsafeChange.REFUSED_ARRAYS
    assert f"a.py:3:5: TS051 rewritten, unsafe (row {row.number}): infer(client, " in report
    assert report.count(f"row {row.number}: {row.change}: {row.difference}\n") == 1


def test_row_of_a_request_that_calls_the_helper_as_others_do() -> None:
    """A request that could be lines has the row of the helper, if another request needs it."""
    formats = "InferContext.ResultFormat.RAW"
    requests = f"r = ctx.run({{'A': x}}, {{'B': {formats}}}, 2)\ns = ctx.run(i, o)\n"
    uses = migrated(STAR + CONTEXT + requests).uses
    rows = [outcome.rows for row, outcome in uses if row.entry.id == "TS051"]
    assert rows == [(UnsafeChange.REFUSED_ARRAYS,)] * 2


def test_reason_names_the_rows() -> None:
    """Without --unsafe, the reason of a use that needs the option names its rows."""
    rows = (UnsafeChange.DECIMALS, UnsafeChange.REGION_STATUS)
    assert reason_of(rows) == (
        f"unsafe: {rows[0].difference}; {rows[1].difference}; --unsafe rewrites it "
        f"(rows 1, {rows[1].number})"
    )
