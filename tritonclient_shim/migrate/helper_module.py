"""One module with the functions that all migrated files call: what ``--helpers`` names."""

from __future__ import annotations

import keyword
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Iterable, Sequence

from tritonclient_shim.migrate.emitted import (
    IN_REGIONS,
    MODEL,
    NEEDS,
    block_of,
    is_written,
    parts_of,
)
from tritonclient_shim.migrate.files import Migrated
from tritonclient_shim.migrate.format import quote_of, with_quotes
from tritonclient_shim.migrate.import_block import import_block
from tritonclient_shim.scan.imports import modules_of
from tritonclient_shim.scan.sources import Unreadable, content, read

_DOCSTRING = '"""Requests to Triton, for programs that used the tensorrtserver client."""\n'


class NoModule(Exception):
    """A module for the helpers cannot be made. The text says why, and what to do."""


@dataclass(frozen=True)
class HelperModule:
    """The module for the helpers: its name in imports, and its file."""

    name: str
    path: str


def module_of(name: str, paths: Sequence[str]) -> HelperModule:
    """Return the module of a name. Raise NoModule if its place is not certain.

    ``paths``: the files that import it. A module of a package is in the folder of the package,
    which is in a folder above one of the files. Another module is in the one folder of all files,
    which import each other without a package.
    """
    package, _, last = name.rpartition(".")
    for part in name.split("."):
        if not part.isidentifier() or keyword.iskeyword(part):
            raise NoModule(
                f"--helpers: {name!r} is no name of a module; expected one as in an import, such "
                "as package.triton_helpers; name it without .py"
            )
    folders = _folders_of_package(package, paths) if package else _folders(paths)
    if len(folders) != 1:
        raise NoModule(_unclear(name, package, folders))
    folder = folders[0]
    own_package = "" if package else _package_of(folder, paths)
    if own_package:
        raise NoModule(
            f"--helpers: {folder or '.'} is a package; expected a module of it; name the module as "
            f"the files import it: {own_package}.{name}"
        )
    return HelperModule(name, os.path.join(folder, f"{last}.py"))


def _package_of(folder: str, paths: Sequence[str]) -> str:
    """Return the package whose modules the files of a folder are, as they import it; '' for none.

    A package without ``__init__.py`` shows in imports of one file by another.
    """
    own = os.path.basename(os.path.abspath(folder))
    names = {os.path.splitext(os.path.basename(path))[0] for path in paths}
    for path in paths:
        with suppress(Unreadable):
            for module, level in modules_of(read(path).tree):
                package, _, last = module.rpartition(".")
                if level:
                    return own
                if last in names and package.split(".")[-1] == own:
                    return package
    return own if os.path.exists(os.path.join(folder, "__init__.py")) else ""


def _folders(paths: Iterable[str]) -> list[str]:
    """Return the folders of files."""
    return list(dict.fromkeys(os.path.dirname(path) for path in paths))


def _folders_of_package(package: str, paths: Iterable[str]) -> list[str]:
    """Return the folders of a package that are in folders above files, as relative paths."""
    found: dict[str, str] = {}
    for folder in _folders(paths):
        above = os.path.abspath(folder)
        while True:
            place = os.path.join(above, *package.split("."))
            if os.path.isdir(place):
                found.setdefault(os.path.realpath(place), os.path.relpath(place))
            if above == os.path.dirname(above):
                break
            above = os.path.dirname(above)
    return list(found.values())


def _unclear(name: str, package: str, folders: Sequence[str]) -> str:
    """Return why the place of a module is not certain."""
    if not package:
        return (
            f"--helpers: the files are in {len(folders)} folders ({', '.join(sorted(folders))}); "
            f"expected the module of a package that all can import; name it: package.{name}"
        )
    places = ", ".join(sorted(folders)) or "no folder"
    return (
        f"--helpers: {places} above the files can be the package {package}; expected one folder; "
        "make the folder, or name another package"
    )


def migrated_module(module: HelperModule, files: Iterable[Migrated]) -> Migrated | None:
    """Return the module with all that files call; None if it has these, or if they call nothing.

    Raise NoModule if its file exists and lacks one of these functions, or has another one.
    """
    callers = [file for file in files if file.helpers]
    if not callers:
        return None
    _check_models(callers)
    names = frozenset().union(*(file.helpers for file in callers))
    needs = frozenset().union(*(file.helper_facts & NEEDS for file in callers))
    common = callers[0].helper_facts.intersection(*(file.helper_facts for file in callers))
    facts = common | needs
    if os.path.exists(module.path):
        text = content(module.path).decode()
        other = sorted(name for name in names if not is_written(name, facts, text))
        if not other:
            return None
        raise NoModule(
            f"--helpers: {module.path} exists, and {', '.join(other)} in it is missing or another "
            "one; expected a module that migrate may write; name another module"
        )
    quote = quote_of("\n".join(file.before.decode("utf-8", "replace") for file in callers))
    return Migrated(
        path=module.path,
        before=b"",
        after=_text(names, facts, quote).encode(),
        is_new=True,
    )


def _check_models(callers: Sequence[Migrated]) -> None:
    """Raise NoModule if objects of only some files send requests with shared memory."""
    having = [file for file in callers if MODEL in file.helpers]
    with_regions = [file for file in having if IN_REGIONS in file.helper_facts]
    others = [file.path for file in having if file not in with_regions]
    if with_regions and others:
        raise NoModule(
            f"--helpers: {with_regions[0].path} needs another {MODEL} than {others[0]}, for "
            "requests with shared memory; expected files that share all functions; run migrate for "
            "the two apart, with another module for one of them"
        )


def _text(names: frozenset[str], facts: frozenset[str], quote: str) -> str:
    """Return the source of a module with helpers."""
    parts = parts_of(names, facts)
    imports = import_block(part.text for part in parts if not part.source)
    definitions = block_of([part.text for part in parts if part.source])
    body = with_quotes(f"{imports}\n{definitions}", quote)
    return f"{_DOCSTRING}\n{body}\n"
