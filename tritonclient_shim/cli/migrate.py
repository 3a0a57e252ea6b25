"""Rewrite sources of the legacy API to tritonclient.

Without --write nothing is written: the changes are printed as a diff. A file
that keeps uses runs on this package, beside tritonclient.

Exit status: 0 nothing would change (with --write: no use is left), 1 something
would change (with --write: uses are left), 2 wrong usage, 3 files that could
not be read, parsed or written, whose reasons are on stderr, 4 a command of
--prove does not do the same (nothing is written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import tokenize
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tritonclient_shim.cli import Refused, count, show, tell
from tritonclient_shim.cli._config import fill_in
from tritonclient_shim.cli._files import NO_FILE, add_files, bug, chosen, ids
from tritonclient_shim.cli._terminal import CYAN, GREEN, RED, painted
from tritonclient_shim.usage import report as usage_report

if TYPE_CHECKING:
    from tritonclient_shim.migrate.files import Migrated
    from tritonclient_shim.migrate.options import MigrateOptions, SiteOutcome
    from tritonclient_shim.migrate.program import Program
    from tritonclient_shim.migrate.prove import Proof
    from tritonclient_shim.migrate.unsafe import UnsafeChange
    from tritonclient_shim.usage.rows import UsageRow

_DONE = 0
_LEFT = 1
_UNREADABLE = 3
_NOT_PROVEN = 4
_TITLE = "Migration from the legacy API"
_COLOURS = {"+": (GREEN,), "-": (RED,), "@": (CYAN,)}
#: So many lines of functions in a file make its owner wish for a module of them.
_MANY_LINES = 30
_NEXT = "Nothing is written; --write writes the changes.\n"


@dataclass
class _Work:
    """The files that were migrated, and why others were not. ``module``: a new one for helpers."""

    files: list[Migrated] = field(default_factory=list)
    module: Migrated | None = None
    failures: list[str] = field(default_factory=list)
    proof: Proof | None = None

    @property
    def uses(self) -> list[tuple[UsageRow, SiteOutcome]]:
        """Return the uses in all files that no comment hides."""
        from tritonclient_shim.scan.sources import is_ignored

        uses = [use for file in self.files for use in file.uses]
        return [(row, what) for row, what in uses if not is_ignored(row.snippet, row.entry.id)]

    @property
    def changed(self) -> list[Migrated]:
        """Return the files that change, a new module first."""
        new = [self.module] if self.module else []
        return [*new, *(file for file in self.files if file.changed)]

    @property
    def read(self) -> int:
        """Return how many of the files were there before."""
        return len(self.files)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim migrate``."""
    add_files(parser)
    add = parser.add_argument
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="write the changed files")
    how.add_argument("--check", action="store_true", help="print the report alone, for CI")
    add("--prove", metavar="COMMAND", action="append", default=[],
        help="with --write: run this command on a copy of the project, before and after, and "
        "write only if it ends and prints the same; may be given several times")  # fmt: skip
    add("--prove-timeout", metavar="SECONDS", type=float, default=600.0,
        help="how long a command of --prove may take (default: %(default)s)")  # fmt: skip
    add("--to", choices=("grpc", "http"), default="",
        help="the protocol instead of one that the program chooses")  # fmt: skip
    add("--helpers", metavar="MODULE", default="",
        help="write the functions that the files call into this module, such as "
        "package.triton_helpers, instead of into each file")  # fmt: skip
    add("--unsafe", action="store_true",
        help="make changes, too, that some programs may notice")  # fmt: skip
    add("--select", metavar="IDS", type=ids, default=frozenset(),
        help="rewrite uses of these ids alone, such as TS020,TS021,TS022")  # fmt: skip
    add("--server", metavar="URL", default="",
        help="HOST:PORT of a server, HTTP or gRPC, which is asked about its models")  # fmt: skip
    add("--format", choices=("text", "json"), default="text",
        help="of the report (default: %(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Migrate and report → exit status."""
    from tritonclient_shim.migrate.helper_module import NoModule
    from tritonclient_shim.migrate.prove import NotProven

    if arguments.prove and not arguments.write:
        raise Refused("--prove needs --write; add it, or leave --prove out to see the changes")
    fill_in(arguments, {key: key for key in ("exclude", "select", "to", "helpers")})
    try:
        work = _migrated(arguments)
    except NoModule as error:
        raise Refused(str(error)) from None
    if arguments.write:
        try:
            _prove_and_write(work, arguments)
        except NotProven as error:
            tell("migrate", f"{error}\nNothing is written.")
            return _NOT_PROVEN
    for reason in work.failures:
        tell("migrate", reason)
    summary = _summary(work)
    if arguments.format == "json":
        show(usage_report.dumped({"title": _TITLE, "summary": summary, **_document(work)}))
    else:
        is_diff = not (arguments.write or arguments.check)
        changes = "".join(_painted(_diff(file)) for file in work.changed) if is_diff else ""
        uses = _use_lines(work)
        show("".join([changes, f"{uses}\n" if uses else "", f"{summary}\n", _NEXT * bool(changes)]))
    if work.failures:
        return _UNREADABLE
    if arguments.write:
        return _LEFT if any(outcome.todo for _, outcome in work.uses) else _DONE
    return _LEFT if work.changed else _DONE


def _migrated(arguments: argparse.Namespace) -> _Work:
    """Migrate each file. Raise NoModule if the module for the helpers cannot be made."""
    from tritonclient_shim.cli._models import models_of
    from tritonclient_shim.migrate.helper_module import migrated_module, module_of
    from tritonclient_shim.migrate.options import MigrateOptions
    from tritonclient_shim.migrate.program import Program
    from tritonclient_shim.notice.warn import without_syntax_warnings

    paths = chosen(arguments)
    if not paths:
        raise Refused(NO_FILE)
    module = module_of(arguments.helpers, paths) if arguments.helpers else None
    options = MigrateOptions(
        to=arguments.to,
        unsafe=arguments.unsafe,
        select=arguments.select,
        models=models_of(arguments.server) if arguments.server else {},
        helpers=arguments.helpers,
    )
    program = Program(paths)
    before = None
    work = _Work()
    with without_syntax_warnings():
        while program.kept != before:  # until each file keeps what the others need
            before = program.kept
            work = _Work()
            for path in program.importers_first(paths):
                program = _migrate_file(path, options, program, work)
    work.files.sort(key=lambda file: paths.index(file.path))
    if module:
        work.module = migrated_module(module, work.files)
    return work


def _migrate_file(path: str, options: MigrateOptions, program: Program, work: _Work) -> Program:
    """Migrate one file; keep what became of it, or why it failed → the program with the result."""
    from tritonclient_shim.migrate.files import Migrated, migrate
    from tritonclient_shim.scan.imports import may_use_v1
    from tritonclient_shim.scan.sources import Unreadable, content

    try:
        _refuse_link(path)
        data = content(path)
        is_v1 = may_use_v1(path, data)
        done = migrate(path, data, options, program) if is_v1 else Migrated(path, data, data)
        work.files.append(done)
        return program.with_migrated(path, done.keeps, done.after)
    except Exception as error:  # one file must not keep the others from being migrated
        is_bug = not isinstance(error, Unreadable)
        effect = "which left the file as it was"
        work.failures.append(bug("migrate", path, error, effect) if is_bug else str(error))
        return program.with_failed(path)


def _refuse_link(path: str) -> None:
    """Raise Unreadable for a link to a file that is not read itself.

    Python looks for a script's modules beside the file, and for a module's beside the link.
    """
    from tritonclient_shim.scan.sources import Unreadable

    if os.path.islink(path) and os.path.exists(path):
        target = os.path.relpath(os.path.realpath(path))
        raise Unreadable(
            f"{path}: is a link to {target}; expected the file itself; run migrate for {target}, "
            "or leave the link out with --exclude"
        )


# --------------------------------------------------------------------------------------- report


def _diff(file: Migrated) -> str:
    """Return the changes of a file, as ``diff -u`` shows them and ``patch`` applies them."""
    old = _lines(file.before)
    new = _lines(file.after)
    old_path = os.devnull if file.is_new else file.path
    lines = difflib.unified_diff(old, new, old_path, file.path)
    mark = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else f"{line}{mark}" for line in lines)


def _painted(diff: str) -> str:
    """Return a diff in the colours of ``git diff``, if standard output shows colours."""
    return "\n".join(painted(line, *_COLOURS.get(line[:1], ())) for line in diff.split("\n"))


def _lines(data: bytes) -> list[str]:
    """Return the lines of a text. For ``patch`` a line ends with ``\\n`` alone."""
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    return io.StringIO(data.decode(encoding), newline="\n").readlines()


def _use_lines(work: _Work) -> str:
    """Return a line for each use, and for each row of the table of unsafe changes."""
    from tritonclient_shim.migrate.unsafe import UnsafeChange, numbers_of

    lines = []
    rows: set[UnsafeChange] = set()
    for row, outcome in work.uses:
        rows.update(outcome.rows)
        numbers = f" ({numbers_of(outcome.rows)})" if outcome.rows else ""
        state = f"{outcome.state.value}{numbers}"
        lines.append(f"{row.place}: {row.entry.id} {state}: {outcome.what}\n")
    if rows:
        lines.append("\nWhat may differ, by the rows of the table of unsafe changes:\n")
    for change in UnsafeChange:
        if change in rows:
            lines.append(f"row {change.number}: {change.change}: {change.difference}\n")
    return "".join(lines)


def _document(work: _Work) -> dict[str, Any]:
    """Return the uses and the files for JSON."""
    return {
        "uses": [
            {
                **row.as_dict(),
                "outcome": outcome.state.name.lower(),
                "what": outcome.what,
                "rows": [change.number for change in outcome.rows],
            }
            for row, outcome in work.uses
        ],
        "files": {
            "read": work.read,
            "changed": [file.path for file in work.changed],
            "failed": work.failures,
        },
        "proven": _proven(work.proof),
    }


def _proven(proof: Proof | None) -> dict[str, Any] | None:
    """Return the commands of a proof, and the files that no command has read."""
    if proof is None:
        return None
    return {"commands": list(proof.commands), "unread": list(proof.unread)}


def _summary(work: _Work) -> str:
    """Return in sentences what became of the uses and files."""
    states = [outcome.state.value for _, outcome in work.uses]
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    uses = "No use of the legacy API. " if work.files else ""
    if states:
        uses = f"{count(len(states), 'use')}: {counts}. "
    failed = f", {len(work.failures)} failed" if work.failures else ""
    changed = f"{sum(file.changed for file in work.files)} with changes"
    new = f", {work.module.path} is new" if work.module else ""
    sentences = [f"{uses}{count(work.read, 'file')} read{failed}; {changed}{new}."]
    most = max(work.files, key=lambda file: file.written_lines, default=None)
    if most and most.written_lines > _MANY_LINES:
        sentences.append(_shorter(most))
    if work.proof:
        sentences.append(_proof_sentence(work.proof))
    return " ".join(sentences)


def _shorter(file: Migrated) -> str:
    """Return how a file gets fewer lines of functions."""
    from tritonclient_shim.migrate.emitted import OVER_BOTH

    remedy = "--helpers MODULE writes them into a module"
    if OVER_BOTH in file.helper_facts:
        remedy += "; with --to grpc or --to http they are fewer"
    return f"{file.written_lines} lines of {file.path} are functions for its requests. {remedy}."


def _proof_sentence(proof: Proof) -> str:
    """Return what a proof has shown, and which files no command has run."""
    commands = ", ".join(f"`{command}`" for command in proof.commands)
    sentence = f"Before and after, status and output are the same: {commands}."
    unread = f" No command has read: {', '.join(proof.unread)}." if proof.unread else ""
    return f"{sentence}{unread}"


# ------------------------------------------------------------------------------ writing


def _prove_and_write(work: _Work, arguments: argparse.Namespace) -> None:
    """Write the changed files if the commands prove them. Raise NotProven if they do not."""
    from tritonclient_shim.migrate.prove import prove
    from tritonclient_shim.migrate.writing import NotWritten, write_files

    changed = {file.path: file.after for file in work.changed}
    if arguments.prove and changed:
        work.proof = prove(arguments.prove, changed, arguments.prove_timeout)
    try:
        write_files(work.changed)
    except NotWritten as error:
        work.failures += error.reasons
        work.files = [file for file in work.files if not file.changed]
        work.module = work.proof = None
