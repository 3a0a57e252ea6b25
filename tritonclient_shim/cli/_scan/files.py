"""Paths of the command line and patterns to leave out → the files to read, each once."""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from typing import Iterable, Iterator, NamedTuple

from tritonclient_shim.migrate import sources


class ExcludedPaths(NamedTuple):
    """Patterns of names and paths, and the folder that paths in them start from."""

    patterns: tuple[str, ...] = ()
    folder: str = ""

    def match(self, path: str, names: Iterable[str]) -> bool:
        """True if a pattern fits one of the names, the path, or a folder above it."""
        names = list(names)
        return any(
            self._path_fits(pattern, path)
            if "/" in pattern
            else any(fnmatchcase(name, pattern) for name in names)
            for pattern in self.patterns
        )

    def _path_fits(self, pattern: str, path: str) -> bool:
        wanted = os.path.normpath(os.path.join(glob.escape(self.folder), pattern))
        return any(fnmatchcase(one, wanted) for one in with_parents(os.path.abspath(path)))


def chosen(paths: Iterable[str], excluded: ExcludedPaths) -> Iterator[str]:
    """Yield the files to read; a file that is named twice comes once."""
    seen: set[str] = set()
    for given in paths:
        for path in sources.files([given]):
            path = path[2:] if path.startswith("./") else path  # as reports write it
            real = os.path.realpath(path)
            if real not in seen and not excluded.match(path, _names(path, given)):
                yield path
            seen.add(real)


def _names(path: str, given: str) -> list[str]:
    """Return the names in a path; of an absolute path those below the folder it was found in."""
    if os.path.isabs(path):
        inside = os.path.relpath(path, given) if os.path.isdir(given) else os.path.basename(path)
    else:
        inside = os.path.normpath(path)
    return inside.split(os.sep)


def with_parents(path: str) -> Iterator[str]:
    """Yield a path, then each folder above it."""
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent
