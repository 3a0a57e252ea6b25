"""Decide by its text if a file can have a legacy use. Other files are not analysed."""

from __future__ import annotations

import os
import re
from typing import Iterator

from tritonclient_shim.migrate.imports import ONLY_V1, neighbour
from tritonclient_shim.migrate.sources import ENDINGS, Unreadable, content

_STATUS = ("request_status_pb2", "server_status_pb2")
_V1 = [name.encode() for name in ("tensorrtserver", *_STATUS, *sorted(ONLY_V1))]
#: What TS201 to TS203 need. These uses are reported only beside a file that uses v1.
_REMOVED = re.compile(rb"\b(?:np|numpy|async|future)\b")
_STAR = re.compile(rb"\bfrom([.\w\s\\\x80-\xff]*?)import[\s\\]*\*")


class Candidates:
    """A filter of files by their text. It reads each neighbour once."""

    def __init__(self) -> None:
        self._uses_v1: dict[str, bool] = {}
        self._folders: dict[str, bool] = {}

    def includes(self, path: str, text: bytes) -> bool:
        """True if the file uses v1, or is beside such a file and uses what Python removed."""
        path = os.path.abspath(path)
        if self._file(path, text):
            return True
        return bool(_REMOVED.search(text)) and self._folder(os.path.dirname(path))

    def _file(self, path: str, text: bytes | None = None) -> bool:
        """True if the file, or a file that it star-imports, has a name of v1."""
        if path not in self._uses_v1:
            text = _content(path) if text is None else text
            # before its neighbours, which may import it; several times faster than a pattern
            self._uses_v1[path] = any(name in text for name in _V1)
            self._uses_v1[path] |= any(self._file(other) for other in _neighbours(path, text))
        return self._uses_v1[path]

    def _folder(self, folder: str) -> bool:
        if folder not in self._folders:
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            paths = (os.path.join(folder, name) for name in names if name.endswith(ENDINGS))
            self._folders[folder] = any(map(self._file, paths))
        return self._folders[folder]


def _neighbours(path: str, text: bytes) -> Iterator[str]:
    """Yield the files that star imports read if their modules lie beside the importing file."""
    for name in _STAR.findall(text):
        module = re.sub(rb"[\s\\]", b"", name).decode(errors="replace")
        below = module.lstrip(".")
        yield neighbour(path, below, len(module) - len(below))


def _content(path: str) -> bytes:
    try:
        return content(path)
    except Unreadable:
        return b""
