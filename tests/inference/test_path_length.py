"""The number of our functions and files that one small inference passes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Callable

import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext
from testbed import TritonServer
from tests.infer_cases import BOTH, add_sub

#: The highest counts of functions and files, by protocol.
LIMITS = {0: (54, 19), 1: (49, 17)}
#: The folder of the packages: the checkout, or where they are installed.
ROOT = Path(tritonclient_shim.__file__).resolve().parents[1]
OURS = tuple(str(ROOT / package) for package in ("tensorrtserver", "tritonclient_shim"))
#: Python before 3.12 has a frame for each comprehension, but a reader sees no function.
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")


def functions_of(call: Callable[[], object]) -> list[CodeType]:
    """Make a call, and return the functions that it passes on this thread, each once."""
    functions: dict[CodeType, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(OURS) and code.co_name not in COMPREHENSIONS
        if event == "call" and is_ours:
            functions[code] = None

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*functions]


@pytest.mark.parametrize("protocol", LIMITS)
def test_path_length(triton: TritonServer, protocol: int) -> None:
    """A repeated run passes no more functions and files than a reader follows once."""
    inputs, (functions, files) = add_sub(), LIMITS[protocol]
    with InferContext(triton.url(protocol), protocol, "simple") as context:
        for _ in range(2):  # by then modules are imported, and caches are full
            context.run(inputs, BOTH)
        passed = functions_of(lambda: context.run(inputs, BOTH))
    assert 0 < len(passed) <= functions, passed
    assert len({code.co_filename for code in passed}) <= files
