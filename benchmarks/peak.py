"""``python -m benchmarks.peak PROGRAM URL PROTOCOL``: print the peak memory of a 256 MB tensor.

A program sends the tensor and receives it. It prints the growth of this process's peak resident
size, in bytes. Each program imports only its own client.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any, Callable

import numpy as np

MEGABYTES = 256
MODEL = "identity_fp32"
Identity = Callable[[Any], Any]


def _facade(url: str, protocol: int, closing: ExitStack) -> Identity:
    from tensorrtserver.api import InferContext

    ctx = InferContext(url, protocol, MODEL)
    closing.callback(ctx.close)
    outputs = {"OUTPUT0": InferContext.ResultFormat.RAW}
    return lambda array: ctx.run({"INPUT0": [array]}, outputs, 1)["OUTPUT0"][0]


def _hand(url: str, protocol: int, closing: ExitStack) -> Identity:
    from benchmarks.ports import HandPort

    port = HandPort(url, protocol, closing)
    return lambda array: port.infer(MODEL, {"INPUT0": [array]}, ["OUTPUT0"])()[0][0]


PROGRAMS = {"facade": _facade, "hand": _hand}


def _peak() -> int:
    """Return the peak in bytes. ``ru_maxrss`` would include the parent before ``exec``."""
    with open("/proc/self/status", encoding="ascii") as status:
        kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kilobytes) * 1024


def growth(identity: Identity) -> int:
    """Return how much a call raises the peak. Raise AssertionError if the tensor changes."""
    values = np.arange(MEGABYTES * 2**20 // 4, dtype=np.float32)
    identity(values[:4])  # imports and connections do not count
    before = _peak()
    result = identity(values)
    grown = _peak() - before
    if not np.array_equal(result, values):
        raise AssertionError("the tensor came back changed")
    return grown


if __name__ == "__main__":
    with ExitStack() as _closing:
        _program, _url, _protocol = sys.argv[1:]
        print(growth(PROGRAMS[_program](_url, int(_protocol), _closing)))
