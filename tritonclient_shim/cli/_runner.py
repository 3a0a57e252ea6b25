"""Runs a script, a module or code as Python itself would, in this process."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Sequence

from tritonclient_shim.cli._restore import put_back
from tritonclient_shim.migrate import python2
from tritonclient_shim.migrate.async_names import rewritten


def script(command: Sequence[str], async_names: bool) -> None:
    """Run ``[path, *arguments]`` as ``python path`` does, with its folder first in sys.path."""
    path = command[0]
    sys.argv[:] = command
    if not os.path.isfile(path):  # a folder or an archive with a __main__ module
        runpy.run_path(path, run_name="__main__")
        return
    sys.path[0:0] = [os.path.dirname(os.path.abspath(path))]
    with open(path, "rb") as file:
        source = file.read()
    namespace = _main_module(__file__=path, __cached__=None)
    _imports(async_names)
    exec(compiled(source, path, async_names), namespace)


def module(command: Sequence[str], async_names: bool) -> None:
    """Run ``[name, *arguments]`` as ``python -m name`` does."""
    sys.argv[:] = command
    sys.path[0:0] = [os.getcwd()]
    _imports(async_names)
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def code(command: Sequence[str], async_names: bool) -> None:
    """Run ``[source, *arguments]`` as ``python -c source`` does."""
    sys.argv[:] = ["-c", *command[1:]]
    sys.path[0:0] = [""]
    namespace = _main_module()
    _imports(async_names)
    exec(compiled(command[0].encode(), "<string>", async_names), namespace)


def compiled(source: bytes, path: str, async_names: bool) -> CodeType:
    """Source → code; where it does not compile, it is tried with ``async`` as a name."""
    try:
        python2.refuse(source, path)
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        text, lines = rewritten(_decoded(source))
        if not (async_names and lines):
            raise
        python2.refuse(text, path)
        code = compile(text, path, "exec", dont_inherit=True)
        put_back.append(f"async as a name in {os.path.basename(path)}")
        return code


def _decoded(source: bytes) -> str:
    import importlib.util

    return importlib.util.decode_source(source)


def _main_module(**names: Any) -> dict[str, Any]:
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __spec__=None, **names)
    sys.modules["__main__"] = main
    return main.__dict__


def _imports(async_names: bool) -> None:
    """Let the modules that the program imports use ``async`` as a name, too."""
    if async_names:
        sys.path_hooks[:] = [_hook, *sys.path_hooks]
        sys.path_importer_cache.clear()


class _Loader(SourceFileLoader):
    """Compiles an imported module as :func:`compiled` does a script."""

    def source_to_code(self, data: Any, path: Any, **options: Any) -> CodeType:  # type: ignore[override]
        try:
            python2.refuse(bytes(data), str(path))
            return super().source_to_code(data, path, **options)
        except SyntaxError:
            return compiled(bytes(data), str(path), True)


def _hook(path: str) -> Any:
    from importlib.machinery import (
        BYTECODE_SUFFIXES,
        EXTENSION_SUFFIXES,
        SOURCE_SUFFIXES,
        ExtensionFileLoader,
        FileFinder,
        SourcelessFileLoader,
    )

    return FileFinder.path_hook(
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_Loader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )(path)
