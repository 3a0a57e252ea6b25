"""An exception at each step of a call, as a signal's handler may raise it: nothing is lost."""

from __future__ import annotations

import linecache
import re
import sys
import threading
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Callable

import numpy as np
import pytest

import tensorrtserver
import tritonclient_shim
from tensorrtserver.api import InferContext
from tests.reliability.identified_calls import KINDS, within

RAW = InferContext.ResultFormat.RAW
OURS = tuple(
    str(Path(str(package.__file__)).parent) for package in (tensorrtserver, tritonclient_shim)
)
_BLOCK = re.compile(r"\s*(with |try:)")
#: Seconds that a call may take after an interruption. It takes milliseconds.
PATIENCE = 20.0


class Stop(Exception):
    """What a handler raises."""


def interruptible(frame: FrameType, event: str) -> bool:
    """True if Python may call a signal's handler at this event of a frame.

    The frame is ours, or one of ``threading`` that we call. gRPC's own steps are left out: its
    locks do not survive an interruption. Python calls no handler between the steps of ``with`` and
    ``try`` that have a line of their own for a debugger.
    """
    if event not in ("call", "line", "return"):
        return False
    if frame.f_code.co_filename == threading.__file__ and frame.f_back is not None:
        return frame.f_back.f_code.co_filename.startswith(OURS)
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return frame.f_code.co_filename.startswith(OURS) and not _BLOCK.match(line)


def stopped_at(step: int, call: Callable[[int], object]) -> bool:
    """Make a call, and raise Stop at this step of it. False if the call ends before."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        steps += interruptible(frame, event)
        if steps == step:
            raise Stop
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        call(step)
    except Stop:
        return True
    finally:
        sys.settrace(usual)
    return False


@pytest.mark.parametrize("style", ["run", "async_run"])
def test_exception_at_each_step(style: str, triton: Any) -> None:
    """The handler's exception reaches the program. The next requests get their own results."""
    for protocol, streaming in KINDS.values():
        context = InferContext(triton.url(protocol), protocol, "simple", streaming=streaming)

        def call(number: int, context: InferContext = context) -> None:
            inputs = {"INPUT0": [np.full(16, number, np.int32)], "INPUT1": [np.ones(16, np.int32)]}
            if style == "run":
                results = context.run(inputs, {"OUTPUT0": RAW})
            else:
                request_id = context.async_run(inputs, {"OUTPUT0": RAW})
                results = context.get_async_run_results(request_id, True)
            assert results["OUTPUT0"][0].tolist() == [number + 1] * 16

        call(0)
        step = 1
        while stopped_at(step, call):
            within(PATIENCE, partial(call, -step))
            step += 1
        assert step > 50
        within(PATIENCE, context.close)
