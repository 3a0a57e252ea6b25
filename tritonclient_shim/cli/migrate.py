"""Rewrite sources of the legacy API to tritonclient.

Needs libcst: pip install "tritonclient-shim[migrate]". Without --write nothing is written: the
changes are printed as a diff. A context is rewritten with all its uses or not at all, so that a
file in which something is left runs on this package, beside tritonclient.

Exit status: 0 nothing would change (with --write: everything is rewritten), 1 something would
change (with --write: something is left to do), 2 wrong usage, 3 files that could not be read,
parsed or written, which are named; what became of the others is printed all the same, 130
interrupted: what was done so far is printed.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonclient_shim.cli import INTERRUPTED
from tritonclient_shim.cli._migrate import MigrateRefused

if TYPE_CHECKING:
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.rewrite.files import Migrated
    from tritonclient_shim.rewrite.options import MigrateOptions

_DONE, _LEFT, _REFUSED, _UNREADABLE = 0, 1, 2, 3
_FORMATS = ("text", "json", "sarif")


@dataclass
class _Work:
    """The files that were migrated, and why others were not."""

    done: list[Migrated]
    failed: list[str]
    interrupted: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim migrate``."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file, a notebook or a folder")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--diff", action="store_true", help="print the changes as a diff")
    how.add_argument("--write", action="store_true", help="write the changed files")
    how.add_argument("--check", action="store_true", help="print the report alone, for CI")
    add("--to", choices=("grpc", "http"), default="",
        help="the protocol instead of one that the program chooses")  # fmt: skip
    add("--unsafe", action="store_true",
        help="make changes, too, that some programs may notice")  # fmt: skip
    add("--server", metavar="URL", default="",
        help="HOST:PORT of a server, HTTP or gRPC, which is asked about the models")  # fmt: skip
    add("--model-config", metavar="FILE", action="append", default=[],
        help="a model's config.pbtxt, or its configuration in JSON")  # fmt: skip
    add("--report", metavar="FILE", default="",
        help="write the report to this file")  # fmt: skip
    add("--format", choices=_FORMATS, default=_FORMATS[0],
        help="of the report (default: %(default)s)")  # fmt: skip
    add("--exclude", action="append", default=[], metavar="GLOBS",
        help="leave out files and folders, as `tritonclient-shim scan` does")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Migrate and report → exit status."""
    try:
        import libcst  # noqa: F401
    except ImportError:
        _tell('libcst is missing; install it with: pip install "tritonclient-shim[migrate]"')
        return _REFUSED
    from tritonclient_shim.cli._migrate.report import check_place, write
    from tritonclient_shim.cli._output import show

    try:
        if arguments.report:
            check_place(arguments.report)
        work = _migrated(arguments)
        done, failed = work.done, work.failed
        if arguments.report:
            write(arguments.report, arguments.format, done, failed)
    except MigrateRefused as error:
        _tell(str(error))
        return _REFUSED
    show(_printed(arguments, done, failed))
    if work.interrupted:
        return INTERRUPTED
    if failed:
        return _UNREADABLE
    left = any(one.todo for one in done)
    if arguments.write:
        return _LEFT if left else _DONE
    return _LEFT if any(one.changed for one in done) else _DONE


def _migrated(arguments: argparse.Namespace) -> _Work:
    """Migrate each file, and write it if that is asked for."""
    from tritonclient_shim.cli._migrate.models import configurations
    from tritonclient_shim.cli._output import progress
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.migrate.sources import Unreadable
    from tritonclient_shim.notice.warn import without_syntax_warnings
    from tritonclient_shim.rewrite.files import with_helpers
    from tritonclient_shim.rewrite.neighbours import importers_first
    from tritonclient_shim.rewrite.options import MigrateOptions

    paths = _paths(arguments)
    configs = configurations(arguments.server, arguments.model_config)
    options = MigrateOptions(arguments.to, arguments.unsafe, configs)
    candidates, work = Candidates(), _Work([], [])
    try:
        with without_syntax_warnings():
            for path in progress(importers_first(paths), "migrate"):
                _migrate_file(path, options, candidates, work)
    except KeyboardInterrupt:
        work.interrupted = True
    work.done.sort(key=lambda one: paths.index(one.path))
    try:
        work.done += with_helpers(work.done)
    except Unreadable as error:
        work.failed.append(str(error))
        work.done = [one for one in work.done if not one.helpers]
    if arguments.write:
        _write(work)
    for reason in work.failed:
        _tell(reason)
    if work.interrupted:
        _tell(f"interrupted: {len(work.done)} of {len(paths)} files are done")
    return work


def _paths(arguments: argparse.Namespace) -> list[str]:
    """Return the files to migrate; raise MigrateRefused if there are none."""
    from tritonclient_shim.cli._scan.files import ExcludedPaths, chosen

    patterns = [part for text in arguments.exclude for part in text.split(",") if part]
    paths = list(chosen(arguments.paths, ExcludedPaths(tuple(patterns))))
    if not paths:
        raise MigrateRefused(
            "no file to migrate; expected .py, .pyw or .ipynb in the folders, and not all excluded"
        )
    return paths


def _migrate_file(path: str, options: MigrateOptions, candidates: Candidates, work: _Work) -> None:
    """Migrate one file; keep what became of it, or why it failed."""
    from tritonclient_shim.cli._migrate.writing import read
    from tritonclient_shim.migrate.sources import Unreadable
    from tritonclient_shim.rewrite.files import Migrated, migrate

    try:
        data = read(path)
        if not candidates.includes(path, data):
            work.done.append(Migrated(path, data, data, []))
            return
        texts = {os.path.abspath(one.path): one.after for one in work.done if one.changed}
        work.done.append(migrate(path, data, options, texts))
    except Unreadable as error:
        work.failed.append(str(error))
    except Exception as error:  # one file must not keep the others from being migrated
        work.failed.append(f"{path}: {_bug(error)}")


def _write(work: _Work) -> None:
    """Write the changed files; those that cannot be written have failed."""
    from tritonclient_shim.cli._migrate.writing import replace
    from tritonclient_shim.migrate.sources import Unreadable

    for one in list(work.done):
        try:
            if one.changed:
                replace(one.path, one.after)
        except Unreadable as error:
            work.done.remove(one)
            work.failed.append(str(error))


def _bug(error: Exception) -> str:
    """What is said of an error that no file should lead to."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}, line {last.lineno}"
    return (
        f"a bug of migrate, which left the file as it was: {type(error).__name__}: {error} "
        f"({place}); expected no file to lead to it; please report it with the lines that do "
        "and the output of `tritonclient-shim doctor`, and leave the file out with --exclude"
    )


def _printed(arguments: argparse.Namespace, done: list[Migrated], failed: list[str]) -> str:
    from tritonclient_shim.cli._migrate.report import diff, render

    changes = "" if arguments.write or arguments.check else "".join(map(diff, done))
    report = "" if arguments.report else render(arguments.format, done, failed)
    return f"{changes}{report}" if arguments.format == _FORMATS[0] else report


def _tell(text: str) -> None:
    print(f"tritonclient-shim migrate: {text}", file=sys.stderr)
