"""Finds files of NVIDIA's own ``tensorrtserver`` distribution among ours, and refuses to run so.

Both distributions own the folder ``tensorrtserver/``, and pip overwrites and removes files of the
other silently. ``tensorrtserver/__init__.py`` refuses to run on such a mixture, and
``tensorrtserver.py`` beside it says what to do where the folder has lost its ``__init__.py``. When
NVIDIA's wheel was installed last, its empty ``__init__.py`` (docs/v1-behaviour.md §1.1) has
replaced ours, and an import runs nothing of ours: only ``tritonclient-shim doctor`` finds that
(``examine``).

This module is imported with the facade, so it imports nothing that Python has not loaded already.
"""

from __future__ import annotations

import os

_METADATA = (".dist-info", ".egg-info")
# in tensorrtserver/api (docs/v1-behaviour.md §1.1)
_LIBRARIES = ("librequest.so", "libcrequest.so")


def nvidia_files(site: str) -> list[str]:
    """Folder that holds ``tensorrtserver/`` → the files there that only NVIDIA's wheel has.

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
    """Raise ImportError when NVIDIA's files lie in the folder of our ``tensorrtserver`` package.

    It is raised also when ``api/`` has lost its ``__init__.py``, because Python would import that
    folder as an empty package.
    """
    site = os.path.dirname(os.path.abspath(package))
    found = nvidia_files(site)
    if found:
        from tritonclient_shim.core.installation import wording

        raise ImportError(wording.mixed(site, found, "tritonclient-shim was installed over it"))
    api = os.path.join(package, "api")
    starts = ("__init__.py", "__init__.pyc")
    if os.path.isdir(api) and not any(os.path.exists(os.path.join(api, one)) for one in starts):
        _refuse_remains(site)


def refuse_remains(module: str) -> None:
    """Raise ImportError in ``tensorrtserver.py``, which Python imports in place of the package."""
    _refuse_remains(os.path.dirname(os.path.abspath(module)))


def _refuse_remains(site: str) -> None:
    from tritonclient_shim.core.installation import wording

    raise ImportError(wording.remains(site))
