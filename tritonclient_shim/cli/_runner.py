"""Runs a script, a module or code as Python itself would, in this process."""

from __future__ import annotations

import builtins
import importlib.util
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
    with open(path, "rb") as file:
        source = file.read()
    namespace = _main_module(os.path.dirname(os.path.abspath(path)), async_names)
    namespace.update(__file__=path, __cached__=None)
    exec(compiled(source, path, async_names), namespace)


def module(command: Sequence[str], async_names: bool) -> None:
    """Run ``[name, *arguments]`` as ``python -m name`` does."""
    sys.argv[:] = command
    sys.path[0:0] = [os.getcwd()]
    _let_imports_use(async_names)
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def code(command: Sequence[str], async_names: bool) -> None:
    """Run ``[source, *arguments]`` as ``python -c source`` does."""
    sys.argv[:] = ["-c", *command[1:]]
    namespace = _main_module("", async_names)
    exec(compiled(command[0].encode(), "<string>", async_names), namespace)


def compiled(source: bytes, path: str, async_names: bool) -> CodeType:
    """Return the code of a source; if it does not compile, try it with ``async`` as a name."""
    try:
        python2.refuse(source, path)
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        text, lines = rewritten(importlib.util.decode_source(source))
        if not (async_names and lines):
            raise
        python2.refuse(text, path)
        code = compile(text, path, "exec", dont_inherit=True)
        put_back.append(f"async as a name in {os.path.basename(path)}")
        return code


def _main_module(folder: str, async_names: bool) -> dict[str, Any]:
    """Return the namespace of a new ``__main__`` that imports from this folder first."""
    sys.path[0:0] = [folder]
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __spec__=None)
    _let_imports_use(async_names)
    return main.__dict__


def _let_imports_use(async_names: bool) -> None:
    """Let the modules that the program imports use ``async`` as a name, too."""
    if not async_names:
        return
    original = SourceFileLoader.source_to_code

    def source_to_code(loader: Any, data: Any, path: Any, **options: Any) -> Any:
        try:
            python2.refuse(bytes(data), str(path))
            return original(loader, data, path, **options)
        except SyntaxError:
            return compiled(bytes(data), str(path), True)

    setattr(SourceFileLoader, "source_to_code", source_to_code)  # noqa: B010 - for mypy
