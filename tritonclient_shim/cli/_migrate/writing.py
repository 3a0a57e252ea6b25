"""Files are read whole, and replaced whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile

from tritonclient_shim.migrate.sources import Unreadable


def read(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error


def replace(path: str, data: bytes) -> None:
    """Put other bytes into a file; whoever reads it sees the old ones or the new ones."""
    real = os.path.realpath(path)
    try:
        handle, made = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".tritonclient-shim-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            if os.path.exists(real):
                shutil.copymode(real, made)
            else:  # a temporary file is its owner's alone
                os.chmod(made, 0o644)
            os.replace(made, real)
        except OSError:
            os.unlink(made)
            raise
    except OSError as error:
        raise Unreadable(f"{path}: cannot be written: {error.strerror}") from error
