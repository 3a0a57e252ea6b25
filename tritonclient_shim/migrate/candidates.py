"""Decide by its text if a file can have a legacy use. Other files are not analysed."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from tritonclient_shim.migrate.imports import ONLY_V1
from tritonclient_shim.migrate.sources import ENDINGS

_STATUS = ("request_status_pb2", "server_status_pb2")
_V1 = [name.encode() for name in ("tensorrtserver", *_STATUS, *sorted(ONLY_V1))]
#: What TS201 to TS203 need. These uses are reported only beside a file that uses v1.
_REMOVED = re.compile(rb"\b(?:np|numpy|async|future)\b")
_STAR = re.compile(rb"\bfrom([.\w\s\\\x80-\xff]*?)import[\s\\]*\*")


class _FileText(NamedTuple):
    """What the text of a file shows: a name of v1's, and the files that it star-imports."""

    names_v1: bool
    neighbours: list[str]


class Candidates:
    """A filter of files by their text. It reads each neighbour once."""

    def __init__(self) -> None:
        self._files: dict[str, _FileText] = {}
        self._folders: dict[str, bool] = {}

    def includes(self, path: str, text: bytes) -> bool:
        """True if the file uses v1, or is beside such a file and uses what Python removed."""
        path = os.path.abspath(path)
        self._files[path] = _shown(path, text)
        if self._uses_v1(path):
            return True
        return bool(_REMOVED.search(text)) and self._folder_uses_v1(os.path.dirname(path))

    def _uses_v1(self, path: str) -> bool:
        """True if the file, or a file that it star-imports, has a name of v1."""
        pending, seen = [path], {path}
        while pending:
            file = self._file(pending.pop())
            if file.names_v1:
                return True
            pending += set(file.neighbours) - seen
            seen.update(file.neighbours)
        return False

    def _file(self, path: str) -> _FileText:
        if path not in self._files:
            self._files[path] = _shown(path, _content(path))
        return self._files[path]

    def _folder_uses_v1(self, folder: str) -> bool:
        if folder not in self._folders:
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            paths = (os.path.join(folder, name) for name in names if name.endswith(ENDINGS))
            self._folders[folder] = any(self._uses_v1(path) for path in paths)
        return self._folders[folder]


def _shown(path: str, text: bytes) -> _FileText:
    return _FileText(
        names_v1=any(name in text for name in _V1),  # several times faster than a pattern
        neighbours=[_neighbour(path, module) for module in _STAR.findall(text)],
    )


def _neighbour(path: str, module: bytes) -> str:
    """Return the file that a star import reads if the module lies beside the importing file."""
    name = re.sub(rb"[\s\\]", b"", module).decode(errors="replace")
    below = name.lstrip(".")
    folder = os.path.dirname(path)
    for _ in range(len(name) - len(below) - 1):
        folder = os.path.dirname(folder)
    return os.path.join(folder, *below.split(".")) + ".py"


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
