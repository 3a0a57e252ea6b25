"""Count our functions and files that a repeated inference passes.

    python -m benchmarks.trace          the counts for HTTP and gRPC, on a real Triton server
    python -m benchmarks.trace --list   the functions as well, in the order of their first call

Only the thread that calls ``run`` is watched. The third call is counted. By then, modules are
imported, connections are open and caches are full.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, Callable, NamedTuple

import numpy as np

import tritonclient_shim
from tensorrtserver.api import InferContext
from testbed import TritonServer

#: The folder of the packages: the checkout, or where they are installed.
ROOT = Path(tritonclient_shim.__file__).resolve().parent.parent
_OURS = tuple(str(ROOT / package) for package in ("tensorrtserver", "tritonclient_shim"))
_BEFORE = 2
#: Python before 3.12 has a frame for each comprehension, but a reader sees no function.
_COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")
NAMES = {0: "HTTP", 1: "gRPC"}


class Function(NamedTuple):
    """A function of ours: its file below the packages' folder, and its name."""

    file: str
    name: str


class Trace(NamedTuple):
    """The functions that a call passes, each once, and the number of all their calls."""

    functions: list[Function]
    calls: int

    @property
    def files(self) -> int:
        """Return the number of files."""
        return len({function.file for function in self.functions})


def traced(call: Callable[[], object]) -> Trace:
    """Make a call, and return the functions that it passes on this thread."""
    functions: dict[Any, Function] = {}
    calls = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_OURS):
            return
        if code.co_name in _COMPREHENSIONS:
            return
        calls += 1
        if code not in functions:
            name = getattr(code, "co_qualname", code.co_name)
            functions[code] = Function(str(Path(code.co_filename).relative_to(ROOT)), name)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Trace([*functions.values()], calls)


def trace_of_run(url: str, protocol: int) -> Trace:
    """Return the functions that a repeated small ``run`` passes."""
    values = np.arange(16, dtype=np.int32)
    inputs = {"INPUT0": [values], "INPUT1": [values]}
    outputs = dict.fromkeys(("OUTPUT0", "OUTPUT1"), InferContext.ResultFormat.RAW)
    with InferContext(url, protocol, "simple") as context:
        for _ in range(_BEFORE):
            context.run(inputs, outputs)
        return traced(lambda: context.run(inputs, outputs))


def main() -> None:
    """Print the counts of both protocols."""
    with TritonServer.start(models=["simple"]) as server:
        traces = {name: trace_of_run(server.url(number), number) for number, name in NAMES.items()}
    for name, trace in traces.items():
        functions, calls = trace
        print(f"{name}: {len(functions)} functions in {trace.files} files, {calls} calls")
        if "--list" in sys.argv:
            print(*(f"    {function.file}  {function.name}" for function in functions), sep="\n")


if __name__ == "__main__":
    main()
