"""``python -m benchmarks.peak PROGRAM URL PROTOCOL``: what one 256 MB tensor adds to the peak.

Prints the bytes by which the peak resident size of this process grows when a program sends the
tensor and receives it. Each program imports its own client only.
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


def _pytriton(url: str, protocol: int, closing: ExitStack) -> Identity:
    from benchmarks.ports import pytriton_client

    client = pytriton_client("ModelClient", url, protocol, MODEL, closing)
    return lambda array: client.infer_batch(INPUT0=array[np.newaxis])["OUTPUT0"][0]


PROGRAMS = {"facade": _facade, "hand": _hand, "pytriton": _pytriton}


def _peak() -> int:
    """In bytes. ``ru_maxrss`` would include the parent's, from before exec."""
    with open("/proc/self/status", encoding="ascii") as status:
        kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kilobytes) * 1024


def growth(identity: Identity) -> int:
    """By how much one call raises the peak; AssertionError unless the tensor comes back."""
    values = np.arange(MEGABYTES * 2**20 // 4, dtype=np.float32)
    identity(values[:4])  # what is loaded and connected once is not the tensor's
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
