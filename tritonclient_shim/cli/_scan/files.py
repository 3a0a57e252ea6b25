"""Paths of the command line and patterns to leave out → the files to read, each once."""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Iterable, Iterator, NamedTuple

from tritonclient_shim.migrate import sources


class ExcludedPaths(NamedTuple):
    """Patterns of names and paths, and the folder that paths in them start from."""

    patterns: tuple[str, ...] = ()
    folder: str = ""

    def match(self, path: str, names: list[str]) -> bool:
        """True if a pattern fits one of the names, the path, or a folder above it."""
        place = PurePath(os.path.abspath(path))
        places = [str(folder) for folder in (place, *place.parents)]
        return any(
            any(fnmatchcase(folder, self._whole(pattern)) for folder in places)
            if "/" in pattern
            else any(fnmatchcase(name, pattern) for name in names)
            for pattern in self.patterns
        )

    def _whole(self, pattern: str) -> str:
        return os.path.normpath(os.path.join(glob.escape(self.folder), pattern))


def chosen(paths: Iterable[str], excluded: ExcludedPaths) -> Iterator[str]:
    """Yield the files to read; a file that is named twice comes once."""
    seen: set[str] = set()
    for argument in paths:
        for path in sources.files([argument]):
            path = path[2:] if path.startswith("./") else path  # as reports write it
            real = os.path.realpath(path)
            if real not in seen and not excluded.match(path, _names(path, argument)):
                yield path
            seen.add(real)


def _names(path: str, argument: str) -> list[str]:
    """Return the names in a path; of an absolute path those below the folder that was named."""
    if not os.path.isabs(path):
        return os.path.normpath(path).split(os.sep)
    if os.path.isdir(argument):
        return os.path.relpath(path, argument).split(os.sep)
    return [os.path.basename(path)]
