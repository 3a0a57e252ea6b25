"""Examines what Python imports as ``tensorrtserver``, and words each fault with its remedy."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Iterator

from tritonclient_shim.core.installation import nvidia_files, wording
from tritonclient_shim.core.installation.origin import metadata_folder

#: The folder that holds our two packages: this ``tritonclient_shim`` and, beside it, our
#: ``tensorrtserver``.
OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
_PACKAGE = "tensorrtserver"
_PARTS = ("tensorrtserver/", "tensorrtserver.py", "tritonclient_shim/")  # not the metadata


def faults(folder: str = "") -> Iterator[str]:
    """The faults for all programs and, if a folder is given, for the scripts in it."""
    texts = list(_judged(importlib.util.find_spec(_PACKAGE)))
    script = shadow(folder) if folder else ""
    texts += [script] if script and script not in texts else []
    yield from texts
    for site in sys.path:
        found = [] if _same(site, OURS) else nvidia_files(site)
        if found and not any(site in text for text in texts):
            yield wording.behind(site, found, OURS)


def shadow(folder: str) -> str:
    """Folder of a script → the fault if something hides our package from it, else ''."""
    found = PathFinder.find_spec(_PACKAGE, [os.path.abspath(folder), *sys.path])
    if found is None or not found.origin or _is_ours(found.origin):
        return ""
    return next(_other(found.origin))


def _judged(found: ModuleSpec | None) -> Iterator[str]:
    """What an import of ``tensorrtserver`` finds → its fault, if it has one."""
    if found is None:
        yield wording.remains(OURS)
    elif not found.origin:
        yield from _namespace(list(found.submodule_search_locations or []))
    elif _is_ours(found.origin):
        yield from _own()
    else:
        yield from _other(found.origin)


def _namespace(folders: list[str]) -> Iterator[str]:
    """Python found only folders without ``__init__.py``."""
    strange = [one for one in folders if not _same(os.path.dirname(one), OURS)]
    yield wording.foreign(strange[0], OURS) if strange else wording.remains(OURS)


def _own() -> Iterator[str]:
    """Python found our package."""
    found = nvidia_files(OURS)
    lost = altered(OURS)
    if found:
        yield wording.mixed(OURS, found, _order())
    elif not os.path.exists(_init()):
        yield wording.remains(OURS)
    elif lost:
        yield wording.damaged(OURS, lost)


def _other(file: str) -> Iterator[str]:
    """Python found a file that is not ours: NVIDIA's in another folder, or the user's module."""
    package = os.path.dirname(file) if os.path.basename(file) == "__init__.py" else file
    site = os.path.dirname(package)
    found = nvidia_files(site)
    yield wording.hidden(site, found, OURS) if found else wording.foreign(package, OURS)


def altered(site: str) -> list[str]:
    """Our files in this folder that are missing, or differ from what our metadata lists."""
    try:
        with open(os.path.join(metadata_folder(site), "RECORD"), encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if len(row) == 3 and row[1]]
    except OSError:  # a checkout or an editable installation: there is no list
        return []
    listed = ((name, wanted) for name, wanted, _ in rows if name.startswith(_PARTS))
    return [name for name, wanted in listed if wanted != _hash(site, name)]


def _hash(site: str, name: str) -> str:
    """The file's hash as pip writes it, '' where it cannot be read."""
    try:
        with open(os.path.join(site, name), "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
    except OSError:
        return ""
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _order() -> str:
    """Which was installed last, in words: NVIDIA's ``__init__.py`` is empty, ours is not."""
    if os.path.exists(_init()) and os.path.getsize(_init()) == 0:
        return "it was installed over tritonclient-shim, and its code runs instead of ours"
    return "tritonclient-shim was installed over it"


def _init() -> str:
    return os.path.join(OURS, _PACKAGE, "__init__.py")


def _is_ours(file: str) -> bool:
    """Whether the file is our package's, or the module that is imported in its place."""
    mine = (_init(), os.path.join(OURS, f"{_PACKAGE}.py"))
    return any(_same(file, one) for one in mine)


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
