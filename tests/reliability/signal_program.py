"""A program that gets a signal during one call of one context, and continues.

Arguments: url of the server, url that becomes silent when this program requests it on stdout,
protocol, streaming, call, and way: the signal and its handling.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np

from tensorrtserver.api import InferContext, InferenceServerException, ServerHealthContext

URL, SILENT, PROTOCOL, STREAMING, CALL, WAY = sys.argv[1:]
protocol, streaming = int(PROTOCOL), STREAMING == "True"
RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
seen: list[int] = []
sent_at: list[float] = []
called: list[int] = []


class Stop(Exception):
    """An exception that the program's own handler raises."""


def slow(seconds: float) -> dict[str, list[np.ndarray]]:
    """Return the input of a request that takes this long."""
    return {"INPUT0": [np.array([seconds], np.float32)]}


def handler(number: int, _frame: object) -> None:
    """Record the signal, and raise Stop if the way says so."""
    seen.append(number)
    if WAY.endswith("raises"):
        raise Stop


def send(delay: float) -> None:
    """Send the signal from another thread, while this one waits."""

    def body() -> None:
        time.sleep(delay)
        sent_at.append(time.monotonic())
        os.kill(os.getpid(), getattr(signal, WAY.split()[0]))

    threading.Thread(target=body, daemon=True).start()


def opened(url: str = URL, model: str = "slow") -> InferContext:
    """Return a context of the requested kind."""
    return InferContext(url, protocol, model, streaming=streaming)


def full() -> None:
    """Fill a silent connection until it takes no more."""
    context = opened(SILENT, "identity_int32")
    silenced()
    data = {"INPUT0": [np.zeros(8 << 20, np.int32)]}
    for _ in range(8):
        context.async_run(data, RAW)
    raise AssertionError("never full")


def silenced() -> str:
    """Return the second url, where nothing answers any more."""
    print("silence", flush=True)
    input()
    return SILENT


context = opened()
assert context.run(slow(0), RAW)["OUTPUT0"][0][0] == 0
first = 0
if CALL == "close":
    context.async_run(lambda _, number: called.append(number), slow(2), RAW)
elif CALL in ("fetch", "ready"):
    first = context.async_run(slow(2), RAW)
calls = {
    "run": lambda: context.run(slow(2), RAW)["OUTPUT0"][0][0],
    "fetch": lambda: context.get_async_run_results(first, True)["OUTPUT0"][0][0],
    "ready": lambda: context.get_ready_async_request(True),
    "close": lambda: context.close(),
    "queue": full,
    "constructor": lambda: opened(SILENT),
    "health": lambda: ServerHealthContext(SILENT, protocol).is_live(),
}
if CALL in ("constructor", "health"):
    silenced()
if WAY == "SIGINT default":  # a shell's background jobs do not have it
    signal.signal(signal.SIGINT, signal.default_int_handler)
elif not WAY.endswith("default"):
    signal.signal(getattr(signal, WAY.split()[0]), handler)
send(1.5 if CALL == "queue" else 0.5)
try:
    result = calls[CALL]()
except (KeyboardInterrupt, Stop):
    assert time.monotonic() - sent_at[0] < 2.0, "late"
    assert not WAY.endswith("returns")
else:  # a call continues only after a handler that returns
    assert WAY.endswith("returns"), result
    assert result == {"run": 2, "fetch": 2, "ready": first, "close": None}[CALL], result
    assert seen
if CALL == "close":
    before = len(called)
    try:
        context.run(slow(0), RAW)
    except InferenceServerException as error:
        assert "closed" in str(error)
    time.sleep(2.5)
    assert len(called) == before, "a callback after the close"
    mine = ("tensorrtserver-callback", "grpc-stream")
    assert not [item.name for item in threading.enumerate() if item.name in mine]
    context = opened()
elif CALL == "ready" or (CALL == "fetch" and not WAY.endswith("returns")):
    assert context.get_async_run_results(first, True)["OUTPUT0"][0][0] == 2  # nothing was lost
assert context.run(slow(0), RAW)["OUTPUT0"][0][0] == 0
number = context.async_run(slow(0), RAW)
assert context.get_async_run_results(number, True)["OUTPUT0"][0][0] == 0
sys.exit(3)
