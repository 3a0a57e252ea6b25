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

import base64
import csv
import glob
import hashlib
import importlib.util
import json
import os
import shlex
import site as sites
import sys
import sysconfig
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Iterator, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "tritonclient-shim"
#: The folder that holds our two packages.
OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
_PACKAGE = "tensorrtserver"
_PARTS = ("tensorrtserver/", "tensorrtserver.py", "tritonclient_shim/")  # not the metadata
_INIT = os.path.join(OURS, _PACKAGE, "__init__.py")
_OWNERS = "Both own the folder 'tensorrtserver', and pip lets one overwrite and remove the other's"

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
    texts = list(_import_errors(importlib.util.find_spec(_PACKAGE)))
    script = shadow(folder) if folder else ""
    texts += [script] if script and script not in texts else []
    yield from texts
    for site in sys.path:
        files = [] if _same(site, OURS) else nvidia_files(site)
        if files and not any(site in text for text in texts):
            yield as_lines(
                f"{_nvidias(site, files)}, unused as long as tritonclient-shim in {OURS} comes "
                "first. Remove it",
                _remove(site, files),
            )


def shadow(folder: str) -> str:
    """Folder of a script → the error if something hides our package from it, else ''."""
    spec = PathFinder.find_spec(_PACKAGE, [os.path.abspath(folder), *sys.path])
    if spec is None or not spec.origin or _is_ours(spec.origin):
        return ""
    return _hidden(spec.origin)


def refusal(site: str, files: list[str], how: str = f"{NAME} was installed over it") -> str:
    """Return why our package in the folder ``site`` cannot run.

    ``files`` are NVIDIA's in that folder. Without any, files of ours are gone.
    """
    if files:
        text = f"{_nvidias(site, files)}; {how}. {_OWNERS} files. Remove NVIDIA's and put ours back"
        return _with_reinstall(text, site, _remove(site, files))
    return _with_reinstall(
        f"tritonclient-shim in {site} is incomplete: files of 'tensorrtserver' are gone. "
        f"That happens when NVIDIA's retired 'tensorrtserver' is uninstalled. {_OWNERS} files. "
        "Put ours back",
        site,
    )


def _import_errors(spec: ModuleSpec | None) -> Iterator[str]:
    """Yield the error of what an import of ``tensorrtserver`` finds, if it has one."""
    if spec is None:
        yield refusal(OURS, [])
    elif not spec.origin:  # only folders without __init__.py
        folders = spec.submodule_search_locations or []
        strange = [path for path in folders if not _same(os.path.dirname(path), OURS)]
        yield _foreign(strange[0]) if strange else refusal(OURS, [])
    elif _is_ours(spec.origin):
        yield from _own_errors()
    else:
        yield _hidden(spec.origin)


def _own_errors() -> Iterator[str]:
    files, lost = nvidia_files(OURS), _altered(OURS)
    if files and os.path.exists(_INIT) and os.path.getsize(_INIT) == 0:  # NVIDIA's is empty
        how = "it was installed over tritonclient-shim, and its code runs instead of ours"
        yield refusal(OURS, files, how)
    elif files or not os.path.exists(_INIT):
        yield refusal(OURS, files)
    elif lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        shown = ", ".join(lost[:3]) + more
        text = f"tritonclient-shim in {OURS} has files missing or changed: {shown}. Put them back"
        yield _with_reinstall(text, OURS)


def _hidden(file: str) -> str:
    """Return the error of a file that hides ours: NVIDIA's package, or the user's own module."""
    package = os.path.dirname(file) if os.path.basename(file) == "__init__.py" else file
    site = os.path.dirname(package)
    files = nvidia_files(site)
    if not files:
        return _foreign(package)
    text = f"{_nvidias(site, files)}; it hides tritonclient-shim in {OURS}. Remove it"
    return as_lines(text, _remove(site, files))


def _foreign(path: str) -> str:
    name = "tensorrtserver_renamed.py" if path.endswith(".py") else "tensorrtserver_renamed"
    return as_lines(
        f"{path} is imported as 'tensorrtserver', in place of tritonclient-shim's in {OURS}. "
        "Give it another name, here and where it is imported",
        [_line("mv", path, os.path.join(os.path.dirname(path), name))],
    )


def _nvidias(site: str, files: list[str]) -> str:
    return (
        f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(files)}) is installed in "
        f"{site}"
    )


def _altered(site: str) -> list[str]:
    """Return our files in a folder that are missing, or differ from what our metadata lists."""
    try:
        with open(os.path.join(_metadata_folder(site), "RECORD"), encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if len(row) == 3 and row[1]]
    except OSError:  # a checkout or an editable installation: there is no list
        return []
    listed = ((name, wanted) for name, wanted, _ in rows if name.startswith(_PARTS))
    return [name for name, wanted in listed if wanted != _hash(site, name)]


def _hash(site: str, name: str) -> str:
    """Return a file's hash as pip writes it, '' if the file cannot be read."""
    try:
        with open(os.path.join(site, name), "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
    except OSError:
        return ""
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _is_ours(file: str) -> bool:
    """True for our package's file, and for the module that is imported in its place."""
    return _same(file, _INIT) or _same(file, os.path.join(OURS, f"{_PACKAGE}.py"))


def _same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


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
    first = [_line(python, "-m", "ensurepip")] if missing else []
    return [*first, _line(python, "-m", "pip", *arguments)]


def _remove(site: str, files: list[str]) -> list[str]:
    """Return the commands that remove NVIDIA's ``files`` from a folder.

    pip uninstalls only what lies in a site folder of the interpreter and has a list of its files.
    """
    listed = [name for name in files if os.path.exists(os.path.join(site, name, "RECORD"))]
    if listed and _is_site(site):
        return pip("uninstall", "-y", "tensorrtserver")
    return [_line("rm", "-r", *(os.path.join(site, name) for name in files))]


def _with_reinstall(text: str, site: str, first: list[str] | None = None) -> str:
    """Return an error with the commands ``first`` and those that install our files again."""
    source = origin(site)
    if source.path and not os.path.exists(source.path):
        text += (
            f" (it came from {source.path}, which is no longer there: restore that first, or write "
            "the path of another wheel or checkout of tritonclient-shim in its place)"
        )
    elif source.indexed:
        text += " (with the same --index-url or --find-links, if it was installed with one)"
    elif not source.arguments:
        text += (
            " (from where that folder came: it is a copy of the sources that pip did not install)"
        )
    return as_lines(text, [*(first or []), *_reinstall(site, source)])


def _reinstall(site: str, source: Origin) -> list[str]:
    if not source.arguments:
        return []
    if _is_site(site) or "--editable" in source.arguments:
        user = ["--user"] if _same(site, sites.getusersitepackages()) else []
        how = ["--force-reinstall", "--no-deps", *user]
    else:
        how = ["--upgrade", "--no-deps", "--target", site]
    return pip("install", *how, *source.arguments)


def _is_site(folder: str) -> bool:
    """True if pip installs into this folder by default; not so with ``--target``."""
    paths = sysconfig.get_paths()
    user = sites.getusersitepackages()
    own = [paths["purelib"], paths["platlib"], *sites.getsitepackages(), user]
    return any(_same(folder, path) for path in own)


def _line(*words: str) -> str:
    return " ".join(map(shlex.quote, words))


# --------------------------------------------------------------------------- the origin


class Origin(NamedTuple):
    """``arguments`` for ``pip install``; none for a checkout that pip did not install."""

    arguments: tuple[str, ...]
    path: str = ""  # of the wheel or folder, if it came from a local one
    indexed: bool = False  # pip found it by its name


def origin(site: str) -> Origin:
    """Folder that holds our packages → where they came from.

    pip writes this to ``direct_url.json`` in the metadata (PEP 610), except for what came from an
    index. The metadata of an editable installation lies in another folder than its modules.
    """
    own = _metadata_folder(site)
    if own:
        version = os.path.basename(own)[: -len(".dist-info")].partition("-")[2]
        return _noted_origin(_note_in(own), version)
    for distribution in metadata.distributions(name=NAME):
        noted = _noted_origin(distribution.read_text("direct_url.json"), distribution.version)
        if noted.path and _same(noted.path, site):
            return noted
    return Origin(())


def _metadata_folder(site: str) -> str:
    """Return the folder of our metadata; '' for a checkout and an editable installation."""
    folders = sorted(glob.glob(os.path.join(glob.escape(site), "tritonclient_shim-*.dist-info")))
    return folders[-1] if folders else ""


def _note_in(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, "direct_url.json"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _noted_origin(text: str | None, version: str) -> Origin:
    """Content of ``direct_url.json`` → the origin; without a usable note, this version by name."""
    note = _direct_url(text)
    if not note:
        return Origin((f"{NAME}=={version}",), indexed=True)
    address, version_control = note["url"], note.get("vcs_info")
    if version_control:
        part = note.get("subdirectory")
        end = f"#subdirectory={part}" if part else ""
        revision = version_control.get("commit_id", "")
        return Origin((f"{version_control.get('vcs', 'git')}+{address}@{revision}{end}",))
    parts = urlsplit(address)
    if parts.scheme != "file":
        return Origin((address,))
    path = url2pathname(parts.path)
    editable = note.get("dir_info", {}).get("editable")
    return Origin(("--editable", path) if editable else (path,), path)


def _direct_url(text: str | None) -> dict[str, Any]:
    try:
        note = json.loads(text or "{}")
    except ValueError:
        return {}
    return note if isinstance(note, dict) and isinstance(note.get("url"), str) else {}
