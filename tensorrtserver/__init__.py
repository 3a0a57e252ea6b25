"""The retired TensorRT Inference Server (TRTIS v1) client, over tritonclient.

As in v1, this package binds no names: import ``tensorrtserver.api``,
``tensorrtserver.shared_memory`` or ``tensorrtserver.cuda_shared_memory``.

Docstrings name ids such as TS051, and sections of the migration guide. ``tritonclient-shim guide
TS051`` prints the section.

Raises
------
ImportError
    NVIDIA's own ``tensorrtserver`` distribution is installed in the same folder, files of this
    package are missing, or this is a subinterpreter.
"""

import os as _os
from importlib import import_module as _import_module

_SUBINTERPRETER = (
    "tensorrtserver was imported in a subinterpreter, where NumPy, protobuf and gRPC do not work; "
    "expected the main interpreter; use threads or processes instead, and under mod_wsgi "
    "`WSGIApplicationGroup %{GLOBAL}`"
)


def _refuse_subinterpreters() -> None:
    # NumPy's import fails in them from Python 3.12 on. Before, a context waits for ever.
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13 and later, and before
        try:
            interpreters = _import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(_SUBINTERPRETER)
        return


def _refuse_mixtures(package: str) -> None:
    # NVIDIA's distribution owns a folder of this name as well. pip overwrites and removes files of
    # the other distribution silently. This check is cheap; its texts are imported when it fails.
    site = _os.path.dirname(package)
    api = _os.path.join(package, "api")
    try:
        names = _os.listdir(site or _os.curdir)
        files = _os.listdir(api)
    except OSError:  # of a zip file: pip has not been there
        return
    lost = not {"__init__.py", "__init__.pyc"}.intersection(files)
    foreign = {"librequest.so", "libcrequest.so"}.intersection(files)
    if lost or foreign or any(name.startswith("tensorrtserver-") for name in names):
        from tritonclient_shim.cli import _installation

        nvidias = _installation.nvidia_files(site)
        if nvidias or lost:
            raise ImportError(_installation.refusal(site, nvidias))


_refuse_subinterpreters()
_refuse_mixtures(_os.path.abspath(__path__[0]))
