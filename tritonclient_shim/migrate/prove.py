"""Prove a migration: run commands on a copy of the project before and after, and compare.

The two runs have the same working folder, environment and paths, and differ in the migrated files
alone. The user's own files are never changed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Iterator, Mapping, Sequence

#: A folder with one of these is the folder of a project.
_PROJECT_FILES = (".git", "pyproject.toml", "setup.cfg", "setup.py")
#: Made anew by each run. Python would load their modules instead of the migrated files.
_LEFT_OUT = frozenset({"__pycache__"})
#: Folders that no migration changes. The copy has links to them.
_LINKED = frozenset({".git", ".hg", ".tox", ".nox", "node_modules"})
_LAST_LINES = 15  # of an error, in a message
_UNSTEADY = (
    "\nA second run before the migration differs as well; name a command that prints the same each "
    "time."
)


class NotProven(Exception):
    """A command does not prove the migration. The text says why, and what to do."""


@dataclass(frozen=True)
class CommandRun:
    """How a command ended.

    ``read``: the migrated files that it read, None where the file system does not record it.
    """

    status: int
    output: bytes
    errors: bytes
    read: frozenset[str] | None

    def equals(self, other: CommandRun) -> bool:
        """True if another run ended with an equal status and printed the same."""
        return (self.status, self.output) == (other.status, other.output)


@dataclass(frozen=True)
class Proof:
    """What commands have proven. ``unread``: the migrated files that no command has read."""

    commands: Sequence[str]
    unread: Sequence[str]


def prove(commands: Sequence[str], files: Mapping[str, bytes], limit: float) -> Proof:
    """Run commands before and after a migration. Raise NotProven if one ends or prints otherwise.

    ``files``: path → the migrated text. ``limit``: the seconds that a command may take.
    """
    project = project_folder(os.getcwd())
    places = {path: _inside(path, project) for path in files}
    new_texts = {places[path]: text for path, text in files.items()}
    with _temporary_folder() as folder:
        copy = ProjectCopy(project, os.path.join(folder, os.path.basename(project) or "project"))
        before = copy.run_all(commands, {}, limit)
        for command, run in zip(commands, before):
            if run.status:
                raise NotProven(_fails_before(command, run))
        after = copy.run_all(commands, new_texts, limit)
        for number, command in enumerate(commands):
            if not before[number].equals(after[number]):
                again = copy.run_all(commands, {}, limit)[number]
                message = _difference(command, before[number], after[number], places)
                raise NotProven(message if again.equals(before[number]) else message + _UNSTEADY)
    return Proof(commands, _unread(places, after))


def project_folder(folder: str) -> str:
    """Return the nearest folder above that has the files of a project; else the folder itself."""
    place = os.path.realpath(folder)
    while not any(os.path.lexists(os.path.join(place, name)) for name in _PROJECT_FILES):
        parent = os.path.dirname(place)
        if parent == place:
            place = os.path.realpath(folder)
            break
        place = parent
    if place in (os.path.realpath(os.path.expanduser("~")), os.path.realpath(os.sep)):
        raise NotProven(
            f"--prove copies the project's folder, which is {place} here; expected the folder of a "
            "program; run migrate in that folder"
        )
    return place


def _inside(path: str, project: str) -> str:
    """Return the place of a file in the project. Raise NotProven if the file is elsewhere."""
    place = os.path.relpath(os.path.realpath(path), project)
    if place.split(os.sep)[0] == os.pardir:
        raise NotProven(
            f"{path} is not below {project}, the folder that --prove copies; expected all files "
            "there; run migrate in the folder of the program"
        )
    return place


@contextmanager
def _temporary_folder() -> Iterator[str]:
    folder = os.path.realpath(tempfile.mkdtemp(prefix="tritonclient-shim-prove-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class ProjectCopy:
    """A copy of a project's folder. Each run of the commands has a new copy at the same path."""

    project: str
    folder: str

    def run_all(
        self, commands: Sequence[str], new_texts: Mapping[str, bytes], limit: float
    ) -> list[CommandRun]:
        """Run the commands, one after the other, in a new copy with some new texts."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._copy_folder(self.project, self.folder)
        for place, text in new_texts.items():
            path = os.path.join(self.folder, place)
            with open(path, "wb") as file:
                file.write(text)
        return [self._run(command, list(new_texts), limit) for command in commands]

    def _copy_folder(self, source: str, target: str) -> None:
        """Copy files, folders and links. Pipes, sockets and devices are left out."""
        os.mkdir(target)
        with os.scandir(source) as entries:
            for entry in entries:
                path = os.path.join(target, entry.name)
                if entry.is_symlink():
                    os.symlink(self._link_target(entry.path), path)
                elif entry.is_dir():
                    if entry.name in _LINKED or _is_environment(entry.path):
                        os.symlink(entry.path, path)
                    elif entry.name not in _LEFT_OUT:
                        self._copy_folder(entry.path, path)
                elif entry.is_file():
                    try:
                        shutil.copy2(entry.path, path)
                    except OSError as error:
                        raise NotProven(
                            f"{entry.path} cannot be copied to {path}: {error.strerror}; --prove "
                            "copies the project's folder; make room for it, or run without --prove"
                        ) from error

    def _link_target(self, link: str) -> str:
        """Return the target for the copy of a link: in the copy if it was in the project."""
        target = os.readlink(link)
        place = os.path.normpath(os.path.join(os.path.dirname(link), target))
        if not f"{place}{os.sep}".startswith(f"{self.project}{os.sep}"):
            return place
        return self.in_copy(target) if os.path.isabs(target) else target

    def in_copy(self, text: str) -> str:
        """Return a text with the copy's path in place of the project's."""
        return _with_path(text, self.project, self.folder)

    def in_project(self, text: str) -> str:
        """Return a text with the project's path in place of the copy's."""
        return _with_path(text, self.folder, self.project)

    def _run(self, command: str, places: Sequence[str], limit: float) -> CommandRun:
        """Run a command in the folder of the copy that stands for the working folder."""
        here = os.path.realpath(os.getcwd())
        folder = self.in_copy(here)
        variables = {**os.environ, "PWD": folder}
        if "PYTHONPATH" in variables:
            variables["PYTHONPATH"] = self.in_copy(variables["PYTHONPATH"])
        for place in places:
            _forget_reads(os.path.join(self.folder, place))
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            # A session of its own: its processes can be ended together.
            process = subprocess.Popen(
                self.in_copy(command),
                shell=True,
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                raise NotProven(
                    f"`{command}` did not end within {limit:g} s; expected a command that ends; "
                    "allow more time with --prove-timeout"
                ) from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            errors.seek(0)
            text = self.in_project(os.fsdecode(errors.read()))
            return CommandRun(
                status=status,
                output=output.read(),
                errors=os.fsencode(text),
                read=self._read_places(places),
            )

    def _read_places(self, places: Sequence[str]) -> frozenset[str] | None:
        """Return the files that were read since `_forget_reads`."""
        if not _records_reads(os.path.dirname(self.folder)):
            return None
        paths = {place: os.path.join(self.folder, place) for place in places}
        return frozenset(
            place for place, path in paths.items() if os.path.exists(path) and _was_read(path)
        )


def _with_path(text: str, old: str, new: str) -> str:
    """Replace a path in a text, also at the beginning of longer paths."""
    return re.sub(re.escape(old) + r"(?![\w.-])", lambda match: new, text)


def _is_environment(folder: str) -> bool:
    """True for the folder of a virtual environment."""
    return os.path.exists(os.path.join(folder, "pyvenv.cfg"))


# ------------------------------------------------------------------------- which files were read


def _forget_reads(path: str) -> None:
    """Set the access time of a file to 0. The next read sets it to the present."""
    if os.path.exists(path):
        os.utime(path, ns=(0, os.stat(path).st_mtime_ns))


def _was_read(path: str) -> bool:
    return os.stat(path).st_atime_ns != 0


def _records_reads(folder: str) -> bool:
    """True if the file system records that a file was read."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"x")
        file.flush()
        _forget_reads(file.name)
        with open(file.name, "rb") as again:
            again.read()
        return _was_read(file.name)


def _unread(places: Mapping[str, str], runs: Sequence[CommandRun]) -> list[str]:
    """Return the migrated files that no command has read. Raise NotProven if that is all.

    ``places``: path of a migrated file → its place in the project.
    """
    read: set[str] = set()
    for run in runs:
        if run.read is None:
            return []
        read |= run.read
    unread = [path for path, place in places.items() if place not in read]
    if unread and len(unread) == len(places):
        raise NotProven(
            f"no command of --prove has read a file that migrate changes ({', '.join(unread)}); "
            "expected a command that runs them in the project's folder. A package that is "
            "installed in editable mode is read from the project itself: begin the command with "
            "PYTHONPATH=FOLDER, the folder of the package"
        )
    return unread


# -------------------------------------------------------------------------------------- messages


def _fails_before(command: str, run: CommandRun) -> str:
    return (
        f"`{command}` ends with status {run.status} before the migration; expected a command that "
        f"works (status 0); try it in a copy of the folder.{_last_lines(run)}"
    )


def _difference(command: str, old: CommandRun, new: CommandRun, places: Mapping[str, str]) -> str:
    """Return the message about a command that ends or prints otherwise."""
    lines = [f"`{command}` does not do the same after the migration."]
    if old.status != new.status:
        lines.append(f"Status before: {old.status}; after: {new.status}.")
    lines += _first_difference(old.output, new.output)
    ran = [path for path, place in places.items() if new.read is None or place in new.read]
    lines.append(f"Migrated files that it read: {', '.join(ran) or 'none'}.")
    text = "\n".join(lines)
    return text + _last_lines(new) if old.status != new.status else text


def _first_difference(old: bytes, new: bytes) -> list[str]:
    """Return the first line of the output that differs."""
    pairs = zip_longest(old.splitlines(), new.splitlines())
    for number, (before, after) in enumerate(pairs, 1):
        if before != after:
            return [
                f"Line {number} of the output before: {_shown(before)}",
                f"Line {number} of the output after: {_shown(after)}",
            ]
    return [] if old == new else ["The outputs differ in their line breaks."]


def _shown(line: bytes | None) -> str:
    return "(no such line)" if line is None else line.decode("utf-8", "backslashreplace")


def _last_lines(run: CommandRun) -> str:
    """Return the last lines of standard error, on lines of their own."""
    lines = run.errors.decode("utf-8", "backslashreplace").splitlines()[-_LAST_LINES:]
    return "".join(f"\n    {line}" for line in lines)
