"""Runs a script or a module as Python would, in this process.

What was removed since 2019 works in both: ``async`` as a name, and names of NumPy.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Sequence

import numpy as np

from tritonclient_shim.scan.sources import rewritten

#: The names that NumPy 1.24 and 2.0 removed, and their meanings.
NUMPY_NAMES: dict[str, Any] = {
    "bool": bool,
    "complex": complex,
    "float": float,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
    "complex_": np.complex128,
    "float_": np.float64,
    "string_": np.bytes_,
    "unicode_": np.str_,
    "Inf": np.inf,
    "Infinity": np.inf,
    "NaN": np.nan,
    "asscalar": lambda array: array.item(),
    "sctypes": {
        "int": [np.int8, np.int16, np.int32, np.int64],
        "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
        "float": [np.float16, np.float32, np.float64, np.longdouble],
        "complex": [np.complex64, np.complex128, np.clongdouble],
        "others": [bool, object, bytes, str, np.void],
    },
}

#: Names that the program has used so far, for the report of `run`.
put_back: list[str] = []


def run_script(command: Sequence[str]) -> None:
    """Run ``[path, *arguments]`` as ``python path`` does, with its folder first in sys.path."""
    path = command[0]
    sys.argv[:] = command
    if not os.path.isfile(path):  # a folder or an archive with a __main__ module
        runpy.run_path(path, run_name="__main__")
        return
    with open(path, "rb") as file:
        source = file.read()
    full_path = os.path.abspath(path)  # also in __file__, as Python's since 3.9
    sys.path[0:0] = [os.path.dirname(full_path)]
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __spec__=None, __file__=full_path, __cached__=None)
    _let_imports_use_async()
    exec(compiled(source, path), main.__dict__)


def run_module(command: Sequence[str]) -> None:
    """Run ``[name, *arguments]`` as ``python -m name`` does."""
    sys.argv[:] = command
    sys.path[0:0] = [os.getcwd()]
    _let_imports_use_async()
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def hide_runner() -> None:
    """Show an uncaught error of the program without the frames of the runner above it."""
    show = sys.excepthook

    def show_program(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        frames = traceback
        while frames is not None and frames.tb_frame.f_code.co_filename != __file__:
            frames = frames.tb_next
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
            traceback = frames
        show(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = show_program


def compiled(source: bytes, path: str) -> CodeType:
    """Return the code of a source; if it does not compile, try it with ``async`` as a name."""
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        text, lines = rewritten(importlib.util.decode_source(source))
        if not lines:
            raise
        code = compile(text, path, "exec", dont_inherit=True)
        put_back.append(f"async as a name in {os.path.basename(path)}")
        return code


def _let_imports_use_async() -> None:
    """Let the modules that the program imports use ``async`` as a name, too."""
    original = SourceFileLoader.source_to_code

    def source_to_code(loader: Any, data: Any, path: Any, **options: Any) -> Any:
        try:
            return original(loader, data, path, **options)
        except SyntaxError:
            return compiled(bytes(data), str(path))

    setattr(SourceFileLoader, "source_to_code", source_to_code)  # noqa: B010 - for mypy


def numpy_names() -> None:
    """Put back NumPy's names when they are used; one that NumPy has keeps its present meaning."""
    present: Any = getattr(np, "__getattr__")  # noqa: B009 - for mypy

    def attribute(name: str) -> Any:
        if name not in NUMPY_NAMES:
            return present(name)
        put_back.append(f"np.{name}")
        setattr(np, name, NUMPY_NAMES[name])
        return NUMPY_NAMES[name]

    setattr(np, "__getattr__", attribute)  # noqa: B010 - a module's, for mypy
