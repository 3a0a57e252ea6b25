"""Paths, patterns and ids of the command line → the files to read, each once, and known ids."""

from __future__ import annotations

import argparse
import os
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Iterable, Iterator

from tritonclient_shim.migrate import sources

NO_FILE = "no file to read; expected .py, .pyw or .ipynb in the folders, and not all excluded"


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which files are read."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file, a notebook or a folder")
    add("--exclude", action="append", default=[], metavar="GLOBS",
        help="leave out files and folders of these names, or paths where there is a /, with commas "
        "between; beside build, dist, site-packages, node_modules and hidden folders")  # fmt: skip


def chosen(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the files to read; a file that is named twice comes once."""
    patterns = _parts(",".join(arguments.exclude))
    seen: set[str] = set()
    for path in sources.files(arguments.paths):
        path = path[2:] if path.startswith("./") else path  # as reports write it
        real = os.path.realpath(path)
        if real not in seen and not _is_excluded(path, patterns):
            yield path
        seen.add(real)


def ids(text: str) -> frozenset[str]:
    """Return the ids in a text; raise ArgumentTypeError for an id that does not exist."""
    from tritonclient_shim.registry import ENTRIES

    wanted = frozenset(_parts(text.upper()))
    unknown = ", ".join(sorted(wanted - ENTRIES.keys()))
    if unknown or not wanted:
        raise argparse.ArgumentTypeError(
            f"no such id: {unknown or repr(text)}; expected ids such as TS051,TS050, which "
            "`tritonclient-shim explain tensorrtserver` lists"
        )
    return wanted


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _is_excluded(path: str, patterns: Iterable[str]) -> bool:
    """True if a pattern fits a name in the path, the path, or a folder above it."""
    place = PurePath(os.path.relpath(path or os.curdir))
    folders = [str(place), *map(str, place.parents)]
    return any(
        any(fnmatchcase(folder, os.path.relpath(pattern)) for folder in folders)
        if "/" in pattern
        else any(fnmatchcase(name, pattern) for name in place.parts)
        for pattern in patterns
    )
