"""Which distribution ``tensorrtserver`` comes from, its errors, and the commands that mend them.

Users copy the commands, so each works as it is printed: with the interpreter that found the error,
and with the source that this installation came from.

Our distribution and NVIDIA's own the folder ``tensorrtserver/``. pip overwrites and removes files
of the other distribution silently. ``tensorrtserver/__init__.py`` refuses such a mixture, and
``tensorrtserver.py`` says what to do if the folder has lost its ``__init__.py``. If NVIDIA's wheel
was installed last, its empty ``__init__.py`` has replaced ours, and an import runs nothing of ours:
only ``tritonclient-shim doctor`` finds that.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import shlex
import sys
import sysconfig
from importlib import metadata
from importlib.machinery import PathFinder
from typing import Iterator
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "tritonclient-shim"
#: The folder that holds our two packages.
OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
_PACKAGE = "tensorrtserver"
_PARTS = ("tensorrtserver/", "tensorrtserver.py", "tritonclient_shim/")  # not the metadata
_INIT = os.path.join(OURS, _PACKAGE, "__init__.py")
_REFUSING = os.path.join(OURS, f"{_PACKAGE}.py")  # imported if there is no package
_METADATA = (".dist-info", ".egg-info")
# in tensorrtserver/api (docs/v1-behaviour.md §1.1)
_LIBRARIES = ("librequest.so", "libcrequest.so")

# --------------------------------------------------------------------------- the errors


def nvidia_files(site: str) -> list[str]:
    """Return the files in a folder beside ours that only NVIDIA's wheel has.

    Its metadata folder first (``tensorrtserver-1.11.0.dist-info``; ours is called
    ``tritonclient_shim-*``), then its compiled libraries. A folder that cannot be listed
    (a zip file, a missing path) holds nothing.
    """
    try:
        names = os.listdir(site or os.curdir)
    except OSError:
        return []
    folders = sorted(n for n in names if n.startswith("tensorrtserver-") and n.endswith(_METADATA))
    libraries = [os.path.join(_PACKAGE, "api", name) for name in _LIBRARIES]
    return folders + [name for name in libraries if os.path.exists(os.path.join(site, name))]


def errors(folder: str = "") -> Iterator[str]:
    """Yield the errors for all programs and, if a folder is given, for the scripts in it."""
    files = nvidia_files(OURS)
    if files or _is_damaged():
        yield refusal(OURS, files)
    hidden = shadow(folder)
    if hidden:
        yield hidden


def shadow(folder: str) -> str:
    """Folder of a script → the error if something hides our package from it, else ''."""
    path = [*([os.path.abspath(folder)] if folder else []), *sys.path]
    spec = PathFinder.find_spec(_PACKAGE, path)
    if spec is None or not spec.origin or _is_one_of(spec.origin, _INIT, _REFUSING):
        return ""
    is_package = os.path.basename(spec.origin) == "__init__.py"
    package = os.path.dirname(spec.origin) if is_package else spec.origin
    site = os.path.dirname(package)
    files = nvidia_files(site)
    if files:
        return as_lines(
            f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(files)}) is installed in "
            f"{site}, and is imported in place of tritonclient-shim's in {OURS}. Remove it",
            _remove(site, files),
        )
    other = "tensorrtserver_renamed" + ("" if is_package else ".py")
    return as_lines(
        f"{package} is imported as 'tensorrtserver', in place of tritonclient-shim's in {OURS}. "
        "Give it another name, here and where it is imported",
        [shlex.join(["mv", package, os.path.join(site, other)])],
    )


def refusal(site: str, files: list[str]) -> str:
    """Return why our package in the folder ``site`` cannot run.

    ``files`` are NVIDIA's in that folder. Without any, files of ours are gone.
    """
    text = (
        f"tritonclient-shim in {site} is incomplete: files are missing. That happens "
        "when NVIDIA's retired 'tensorrtserver' is uninstalled. Put them back"
    )
    if files:
        text = (
            f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(files)}) and "
            f"tritonclient-shim are both installed in {site}. Both own the folder "
            "'tensorrtserver', and pip lets one overwrite and remove the other's files. Remove "
            "NVIDIA's and put ours back"
        )
    source = origin(site)
    if not source:
        text += " (from where that folder came: it is a copy of the sources)"
    first = _remove(site, files) if files else []
    return as_lines(text, [*first, *_reinstall(site, source)])


def _is_damaged() -> bool:
    """True if files of ours that our metadata lists are missing."""
    for distribution in _installed(OURS):
        rows = csv.reader(str(distribution.read_text("RECORD")).splitlines())
        # compiled files have no hash; a user may remove them
        names = [row[0] for row in rows if row[0].startswith(_PARTS) and row[1]]
        return not all(os.path.exists(os.path.join(OURS, name)) for name in names)
    return not os.path.exists(_INIT)  # a checkout or an editable installation: there is no list


def _is_one_of(path: str, *others: str) -> bool:
    return any(os.path.realpath(path) == os.path.realpath(other) for other in others)


# ------------------------------------------------------------------------- the commands


def as_lines(text: str, lines: list[str]) -> str:
    """Return the text, then each command on a line of its own."""
    if not lines:
        return text
    shown = "\n".join(f"    {line}" for line in dict.fromkeys(lines))
    return f"{text}:\n{shown}"


def pip(*arguments: str) -> list[str]:
    """Return ``python -m pip`` with these arguments, after ``ensurepip`` if pip is missing."""
    python = sys.executable or "python3"
    missing = importlib.util.find_spec("pip") is None
    first = [shlex.join([python, "-m", "ensurepip"])] if missing else []
    return [*first, shlex.join([python, "-m", "pip", *arguments])]


def _remove(site: str, files: list[str]) -> list[str]:
    """Return the commands that remove NVIDIA's ``files`` from a folder.

    pip uninstalls only a distribution in the interpreter's own folder that has a list of its files.
    """
    listed = [name for name in files if os.path.exists(os.path.join(site, name, "RECORD"))]
    if listed and _is_site(site):
        return pip("uninstall", "-y", "tensorrtserver")
    return [shlex.join(["rm", "-r", *(os.path.join(site, name) for name in files)])]


def _reinstall(site: str, source: str) -> list[str]:
    """Return the commands that install our files again."""
    if not source:
        return []
    if _is_site(site):
        return pip("install", "--force-reinstall", "--no-deps", source)
    return pip("install", "--upgrade", "--no-deps", "--target", site, source)


def _is_site(folder: str) -> bool:
    """True if pip installs into this folder by default; not so with ``--target``."""
    paths = sysconfig.get_paths()
    return _is_one_of(folder, paths["purelib"], paths["platlib"])


# --------------------------------------------------------------------------- the origin


def origin(site: str) -> str:
    """Return where our packages in a folder came from, as ``pip install`` takes it.

    pip notes the address (PEP 610), but none for what came from an index. The result is '' for
    sources that pip did not copy there, such as a checkout.
    """
    for distribution in _installed(site):
        text = distribution.read_text("direct_url.json")
        if not text:
            return f"{NAME}=={distribution.version}"
        note = json.loads(text)
        address = str(note["url"])
        repository = note.get("vcs_info")
        if repository:
            return f"{repository['vcs']}+{address}@{repository['commit_id']}"
        parts = urlsplit(address)
        return url2pathname(parts.path) if parts.scheme == "file" else address
    return ""


def _installed(folder: str) -> Iterator[metadata.Distribution]:
    """Yield the metadata of ours that pip has written to the folder; a build's has no list."""
    for distribution in metadata.distributions(name=NAME, path=[folder]):
        if distribution.read_text("RECORD"):
            yield distribution
