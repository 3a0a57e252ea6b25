"""Paths, patterns and ids of the command line → the files to read, each once, and known ids."""

from __future__ import annotations

import argparse
import os
import traceback
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Iterable

from tritonclient_shim.scan import sources

NO_FILE = "no file to read; expected .py, .pyw or .ipynb in the folders, and not all excluded"


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which files are read."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file, a notebook or a folder")
    add("--exclude", action="append", default=[], metavar="GLOBS",
        help="leave out files and folders of these names, or paths where there is a /, with commas "
        "between; beside build, dist, site-packages, node_modules and hidden folders")  # fmt: skip


def chosen(arguments: argparse.Namespace) -> list[str]:
    """Return the files to read; a file that is named twice or linked comes once."""
    patterns = _parts(",".join(arguments.exclude))
    # as reports write them
    paths = [path[2:] if path.startswith("./") else path for path in sources.files(arguments.paths)]
    files = {os.path.realpath(path) for path in paths if not os.path.islink(path)}
    seen: set[str] = set()
    result = []
    for path in paths:
        real = os.path.realpath(path)
        is_second_name = os.path.islink(path) and real in files
        if real not in seen and not is_second_name and not _is_excluded(path, patterns):
            result.append(path)
        if not is_second_name:
            seen.add(real)
    return result


def bug(command: str, path: str, error: Exception, effect: str) -> str:
    """Return the message about an error that no file should lead to."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{path}: a bug of {command}, {effect}: {type(error).__name__}: {error} "
        f"({os.path.basename(last.filename)}, line {last.lineno}); expected no file to lead to it; "
        "please report it with the lines that do and the output of `tritonclient-shim doctor`, and "
        "leave the file out with --exclude"
    )


def ids(text: str) -> frozenset[str]:
    """Return the ids in a text; raise ArgumentTypeError for an id that does not exist."""
    from tritonclient_shim.registry import ENTRIES

    ids = frozenset(_parts(text.upper()))
    unknown = ", ".join(sorted(ids - ENTRIES.keys()))
    if unknown or not ids:
        raise argparse.ArgumentTypeError(
            f"no such id: {unknown or repr(text)}; expected ids such as TS051,TS050, which "
            "`tritonclient-shim explain tensorrtserver` lists"
        )
    return ids


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
