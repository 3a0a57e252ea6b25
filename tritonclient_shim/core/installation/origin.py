"""Where this installation came from, as arguments for ``pip install`` that repeat it."""

from __future__ import annotations

import glob
import json
import os
from importlib import metadata
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "tritonclient-shim"


class Origin(NamedTuple):
    """``arguments`` for ``pip install``; none for a checkout that pip did not install."""

    arguments: tuple[str, ...]
    path: str = ""  # of the wheel or folder, if it came from a local one
    indexed: bool = False  # pip found it by its name

    @property
    def gone(self) -> bool:
        """The wheel or folder is no longer where it was."""
        return bool(self.path) and not os.path.exists(self.path)


def origin(site: str) -> Origin:
    """Folder that holds our packages → where they came from.

    pip writes this to ``direct_url.json`` in the metadata (PEP 610), except for what came from an
    index. The metadata of an editable installation lies in another folder than its modules.
    """
    own = metadata_folder(site)
    if own:
        version = os.path.basename(own)[: -len(".dist-info")].partition("-")[2]
        return _of(_direct_url(_text(own)), version)
    for found in metadata.distributions(name=NAME):
        noted = _of(_direct_url(found.read_text("direct_url.json")), found.version)
        if noted.path and os.path.realpath(noted.path) == os.path.realpath(site):
            return noted
    return Origin(())


def metadata_folder(site: str) -> str:
    """The folder of our metadata; '' for a checkout and for an editable installation."""
    found = sorted(glob.glob(os.path.join(glob.escape(site), "tritonclient_shim-*.dist-info")))
    return found[-1] if found else ""


def _text(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, "direct_url.json"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _direct_url(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def _of(noted: dict[str, Any], version: str) -> Origin:
    """Content of ``direct_url.json`` → the origin; where it is empty, this version by name."""
    if not noted:
        return Origin((f"{NAME}=={version}",), indexed=True)
    address = noted["url"]
    version_control = noted.get("vcs_info")
    if version_control:
        part = noted.get("subdirectory")
        end = f"#subdirectory={part}" if part else ""
        revision = version_control.get("commit_id", "")
        return Origin((f"{version_control.get('vcs', 'git')}+{address}@{revision}{end}",))
    parts = urlsplit(address)
    if parts.scheme != "file":
        return Origin((address,))
    path = url2pathname(parts.path)
    editable = noted.get("dir_info", {}).get("editable")
    return Origin(("--editable", path) if editable else (path,), path)
