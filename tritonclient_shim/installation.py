"""Installed files → what of NVIDIA's own ``tensorrtserver`` distribution lies among ours.

Both distributions own the folder ``tensorrtserver/``, and pip overwrites files without a
word. ``tensorrtserver/__init__.py`` refuses to run on such a mixture. When NVIDIA's wheel was
installed last, its empty ``__init__.py`` (v1 §1.1) replaces ours and nothing of ours runs at
import: then only ``check`` finds it. Imported with the facade, so it loads
nothing that Python has not loaded already.
"""

from __future__ import annotations

import os
import sys

REMEDY = (
    "pip uninstall -y tensorrtserver",
    "pip install --force-reinstall --no-deps tritonclient-shim",
)
_METADATA = (".dist-info", ".egg-info")
_LIBRARIES = ("librequest.so", "libcrequest.so")  # in tensorrtserver/api (v1 §1.1)
_OURS = os.path.join("tritonclient_shim", "installation.py")  # always beside our facade


def nvidia_files(site: str) -> list[str]:
    """Folder holding ``tensorrtserver/`` → the names that only NVIDIA's wheel puts there.

    Its metadata folder first (``tensorrtserver-1.11.0.dist-info``; ours is called
    ``tritonclient_shim-*``), then its compiled libraries. A folder that cannot be listed
    (a zip file, a missing path) holds nothing.
    """
    try:
        names = os.listdir(site or os.curdir)
    except OSError:
        return []
    found = sorted(n for n in names if n.startswith("tensorrtserver-") and n.endswith(_METADATA))
    api = os.path.join(site, "tensorrtserver", "api")
    libraries = [name for name in _LIBRARIES if os.path.exists(os.path.join(api, name))]
    return found + [os.path.join("tensorrtserver", "api", name) for name in libraries]


def refuse_mixture(package: str) -> None:
    """Folder of the ``tensorrtserver`` package → ImportError when NVIDIA's files lie there too."""
    site = os.path.dirname(os.path.abspath(package))
    found = nvidia_files(site)
    if found:
        raise ImportError(_text(site, found, "tritonclient-shim was installed over it"))


def check(path: list[str] | None = None) -> list[str]:
    """Import path (``sys.path`` by default) → one text for each folder that mixes both.

    Unlike the check at import it also sees a wheel of NVIDIA's that was installed over ours.
    A copy of NVIDIA's client alone in a folder is reported when it hides ours further down.
    """
    folders = [os.path.abspath(entry) for entry in (sys.path if path is None else path)]
    packages = [site for site in dict.fromkeys(folders) if _has_package(site)]
    return [text for rank, site in enumerate(packages) for text in _report(site, packages[rank:])]


def _report(site: str, rest: list[str]) -> list[str]:
    """One folder and the import path from it on → no text or one."""
    found = nvidia_files(site)
    if not found:
        return []
    if _has_ours(site):
        return [_text(site, found, _order(site))]
    hidden = [other for other in rest[1:] if _has_ours(other)]
    return [_text(site, found, f"it hides tritonclient-shim in {other}") for other in hidden[:1]]


def _has_package(site: str) -> bool:
    return os.path.isdir(os.path.join(site, "tensorrtserver"))


def _has_ours(site: str) -> bool:
    return os.path.exists(os.path.join(site, _OURS))


def _order(site: str) -> str:
    """Which of the two was installed last: NVIDIA's ``__init__.py`` is empty, ours is not."""
    init = os.path.join(site, "tensorrtserver", "__init__.py")
    if os.path.exists(init) and os.path.getsize(init) == 0:
        return "it was installed over tritonclient-shim, and its code runs instead of ours"
    return "tritonclient-shim was installed over it"


def _text(site: str, found: list[str], how: str) -> str:
    """What was found, why it matters, and the commands that put it right."""
    commands = "\n".join(f"    {command}" for command in REMEDY)
    return (
        f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(found)}) is installed in "
        f"{site}; {how}. Both own the folder 'tensorrtserver', so their files are mixed and "
        f"neither works reliably. Remove NVIDIA's and put ours back:\n{commands}"
    )
