"""Put migrated texts into their files. All texts are on the disk before the first file changes."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from contextlib import contextmanager, suppress
from typing import Iterator, Sequence

from tritonclient_shim.migrate.files import Migrated
from tritonclient_shim.scan.sources import Unreadable, content

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NotWritten(Exception):
    """Files cannot be replaced. No file was changed. ``reasons``: one for each such file."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = list(reasons)


def write_files(files: Sequence[Migrated]) -> None:
    """Replace files by their new texts, in their order. Raise NotWritten before any changes."""
    temporary: dict[str, str] = {}  # path of a file → the file with its new text
    reasons: list[str] = []
    try:
        for file in files:
            try:
                _check(file)
                _write_beside(file, temporary)
            except OSError as error:
                reasons.append(f"{file.path}: cannot be written: {error.strerror}")
            except Unreadable as error:
                reasons.append(str(error))
        if reasons:
            raise NotWritten(reasons)
        _replace_all(temporary)
    finally:
        for name in temporary.values():
            with suppress(OSError):
                os.unlink(name)


def _replace_all(temporary: dict[str, str]) -> None:
    """Replace all files. A signal that ends the process waits: files of a program change together.

    ``temporary`` loses the files that are replaced.
    """
    with _signals_deferred():
        for path in list(temporary):
            os.replace(temporary[path], path)
            del temporary[path]


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Let signals that end the process wait for the end of the block."""
    if threading.current_thread() is not threading.main_thread():  # only it receives signals
        yield
        return
    received: set[int] = set()
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        signal.signal(number, lambda number, frame: received.add(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
    for ending in received:
        signal.raise_signal(ending)


def _check(file: Migrated) -> None:
    """Raise Unreadable if the file must not be replaced."""
    if file.is_new:
        if os.path.lexists(file.path):
            raise Unreadable(
                f"{file.path}: was made while migrate ran; expected no such file; run migrate again"
            )
        return
    if content(file.path) != file.before:
        raise Unreadable(
            f"{file.path}: was changed while migrate ran; expected the text that was read; "
            "run migrate again"
        )
    status = os.stat(file.path)
    if not status.st_mode & 0o222:
        raise Unreadable(
            f"{file.path}: is read-only; expected a file that may be written; allow it with "
            "`chmod u+w`, or leave the file out with --exclude"
        )
    if status.st_nlink > 1:
        raise Unreadable(
            f"{file.path}: has {status.st_nlink} names (hard links), and the others would keep the "
            "old text; expected one name; make it a file of its own, or leave it out with --exclude"
        )


def replace_file(path: str, data: bytes) -> None:
    """Replace a file as a whole, or make it. Raise OSError if it cannot be written."""
    name = ""
    try:
        handle, name = _new_file(path)
        _write(handle, name, path, data)
        os.replace(name, os.path.realpath(path))
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _write_beside(file: Migrated, temporary: dict[str, str]) -> None:
    """Write the new text of a file to a temporary file beside it."""
    handle, name = _new_file(file.path)
    temporary[os.path.realpath(file.path)] = name
    _write(handle, name, file.path, file.after)


def _new_file(path: str) -> tuple[int, str]:
    """Make a temporary file in the folder of a file → its handle and name."""
    return tempfile.mkstemp(
        prefix=".tritonclient-shim-", dir=os.path.dirname(os.path.realpath(path))
    )


def _write(handle: int, name: str, path: str, data: bytes) -> None:
    """Write a text to a temporary file, which gets mode and owner of the file at the path."""
    with os.fdopen(handle, "wb") as output:
        output.write(data)
        output.flush()
        os.fsync(output.fileno())
    if not os.path.exists(path):
        os.chmod(name, 0o666 & ~_umask())
        return
    status = os.stat(path)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(name, status.st_uid, status.st_gid)
    shutil.copymode(path, name)


def _umask() -> int:
    """Return the mode bits that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
