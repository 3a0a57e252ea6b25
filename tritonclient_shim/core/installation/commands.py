"""Shell commands that repair an installation, for this interpreter and its folders.

Users copy them, so each must work as it is printed: with the interpreter that found the fault, and
with the source that this installation came from.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import site as sites
import sys
import sysconfig

from tritonclient_shim.core.installation.origin import Origin


def pip(*arguments: str) -> list[str]:
    """``python -m pip`` with these arguments, after ``ensurepip`` where pip is missing."""
    python = sys.executable or "python3"
    missing = importlib.util.find_spec("pip") is None
    first = [_line(python, "-m", "ensurepip")] if missing else []
    return [*first, _line(python, "-m", "pip", *arguments)]


def remove_nvidias(site: str, found: list[str]) -> list[str]:
    """Folder and what ``nvidia_files`` found in it → the commands that remove all of that.

    pip uninstalls only what lies in a site folder of the interpreter and has a list of its files.
    """
    listed = [name for name in found if os.path.exists(os.path.join(site, name, "RECORD"))]
    if listed and is_site(site):
        return pip("uninstall", "-y", "tensorrtserver")
    return [_line("rm", "-r", *(os.path.join(site, name) for name in found))] if found else []


def reinstall(site: str, origin: Origin) -> list[str]:
    """Folder of our packages, and where they came from → commands that install all files again."""
    if not origin.arguments:
        return []
    if is_site(site) or "--editable" in origin.arguments:
        user = ["--user"] if _same(site, _user_site()) else []
        how = ["--force-reinstall", "--no-deps", *user]
    else:
        how = ["--upgrade", "--no-deps", "--target", site]
    return pip("install", *how, *origin.arguments)


def rename(path: str, new: str) -> list[str]:
    """The command that renames a file or a folder."""
    return [_line("mv", path, os.path.join(os.path.dirname(path), new))]


def is_site(folder: str) -> bool:
    """Whether pip installs into this folder by default; not so with ``--target``."""
    paths = sysconfig.get_paths()
    own = [paths["purelib"], paths["platlib"], *sites.getsitepackages(), _user_site()]
    return any(_same(folder, one) for one in own)


def _user_site() -> str:
    return sites.getusersitepackages()


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _line(*words: str) -> str:
    return " ".join(map(shlex.quote, words))
