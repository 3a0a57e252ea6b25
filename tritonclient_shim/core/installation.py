"""What makes the import of the facade refuse: NVIDIA's files, lost files, a subinterpreter.

Our distribution and NVIDIA's own the folder ``tensorrtserver/``, and pip overwrites and removes
files of the other silently. ``tensorrtserver/__init__.py`` refuses such a mixture, and
``tensorrtserver.py`` says what to do if the folder has lost its ``__init__.py``. If NVIDIA's wheel
was installed last, its empty ``__init__.py`` has replaced ours, and an import runs nothing of ours:
only ``tritonclient-shim doctor`` finds that. Texts and commands are in ``cli/_installation.py``.

This module is imported with the facade, so it imports nothing that Python has not loaded already.
NumPy, protobuf and gRPC belong to the main interpreter: in another one NumPy's import fails from
Python 3.12 on, with another reason than this. Before, a context waits for ever.
"""

from __future__ import annotations

import os
from importlib import import_module

#: Where Python tells interpreters apart: from 3.13 on, and before.
_MODULES = ("_interpreters", "_xxsubinterpreters")
_REFUSED = (
    "tensorrtserver was imported in a subinterpreter, where NumPy, protobuf and gRPC do not work; "
    "expected the main interpreter; use threads or processes instead, and under mod_wsgi "
    "`WSGIApplicationGroup %{GLOBAL}`"
)
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
    folders = sorted(n for n in names if n.startswith("tensorrtserver-") and n.endswith(_METADATA))
    api = os.path.join(site, "tensorrtserver", "api")
    libraries = [name for name in _LIBRARIES if os.path.exists(os.path.join(api, name))]
    return folders + [os.path.join("tensorrtserver", "api", name) for name in libraries]


def has_lost_its_start(package: str) -> bool:
    """True if ``api/`` is without ``__init__.py``: Python imports that as an empty package."""
    api = os.path.join(package, "api")
    starts = ("__init__.py", "__init__.pyc")
    return os.path.isdir(api) and not any(
        os.path.exists(os.path.join(api, start)) for start in starts
    )


def refuse_subinterpreters() -> None:
    """Raise ImportError where this is not the main interpreter of its process."""
    for name in _MODULES:
        try:
            interpreters = import_module(name)
        except ImportError:  # of another release, or an implementation without subinterpreters
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(_REFUSED)
        return
