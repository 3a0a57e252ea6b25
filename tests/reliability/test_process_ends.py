"""Processes that end during calls: at once, silently, with their own exit code."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.own_interpreter import run_program
from tests.reliability.amounts import amount
from tests.reliability.identified_calls import KINDS

CODE = 3
LIMIT = 2.0  # seconds from the last line of a program to the end of its process
ATTEMPTS = 3  # a busy machine may hold up a process
BEGIN = """
import atexit, os, sys, threading, time
import numpy as np
from tensorrtserver.api import *
RAW = {'OUTPUT0': InferContext.ResultFormat.RAW}
def slow(seconds):
    return {'INPUT0': [np.array([seconds], np.float32)]}
def opened():
    return InferContext(sys.argv[1], int(sys.argv[2]), 'slow', streaming=sys.argv[3] == 'True')
def report(text):
    os.write(1, text.encode())
context = opened()
assert context.run(slow(0), RAW)['OUTPUT0'][0][0] == 0
"""

#: A user's destructor that runs when the interpreter clears the main module.
DESTRUCTOR = """
class Wrapper:
    def __init__(self):
        self.context = context
    def __del__(self):
        assert sys.is_finalizing()
        try:
            {call}
            report('done')
        except (InferenceServerException, ImportError) as error:
            report('refused')
wrapper = Wrapper()
"""

#: The calls of the destructor, and the allowed outcomes for each kind of context.
CALLS = {
    "self.context.close()": {"done"},
    "self.context.run(slow(0), RAW)": {"done", "refused"},
    "self.context.get_async_run_results(request, True)": {"done", "refused"},
}

#: The pending work of a program when it ends.
LEFT = {
    "everything": "for _ in range(3): context.async_run(print, slow(1), RAW)\n"
    "ids = [context.async_run(slow(1), RAW) for _ in range(3)]\n"
    "waiting = threading.Thread(target=context.get_async_run_results, args=(ids[0], True))\n"
    "waiting.daemon = True\n"
    "waiting.start()",
    "daemon threads": "def loop():\n    while True: opened().run(slow(0), RAW)\n"
    "for _ in range(2): threading.Thread(target=loop, daemon=True).start()\n"
    "time.sleep(0.2)",
    "contexts dropped in a cycle, a callback and a destructor": "cycle = opened()\n"
    "cycle.me = [cycle]; cycle.async_run(print, slow(1), RAW)\n"
    "del cycle\n"
    "mine, came = [opened()], threading.Event()\n"
    "def done(one, number): mine.clear(); del one; came.set()\n"
    "mine[0].async_run(done, slow(0), RAW)\n"
    "assert came.wait(30)\n"
    "class Owner:\n"
    "    def __del__(self): del self.context\n"
    "owner = Owner()\n"
    "owner.context = opened(); owner.context.async_run(print, slow(1), RAW)\n"
    "del owner",
    "atexit functions": "def last():\n"
    "    number = opened().async_run(slow(0), RAW)\n"
    "    context.run(slow(0), RAW); context.close()\n"
    "atexit.register(last)",
}


def end(program: str, triton: Any, kind: str) -> str:
    """Return the output of a program on a context of this kind. It must end with 0 and silently."""
    protocol, streaming = KINDS[kind]
    ended = run_program(BEGIN + program, triton.url(protocol), protocol, streaming)
    assert (ended.status, ended.stderr) == (CODE, "")
    return ended.stdout


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_destructors_at_the_end(kind: str, call: str, triton: Any) -> None:
    """A destructor that uses its context at the interpreter's end neither hangs nor fails."""
    before = "request = context.async_run(slow(0.3), RAW)\n" if "context.get" in call else ""
    program = f"{before}{DESTRUCTOR.format(call=call)}sys.exit({CODE})"
    for _ in range(amount("ends of processes")):
        assert end(program, triton, kind) in CALLS[call]


def seconds_to_end(left: str, triton: Any, kind: str) -> float:
    """Return how long a process runs after its program's last line."""
    program = f"{LEFT[left]}\nreport(str(time.monotonic()))\nsys.exit({CODE})"
    return time.monotonic() - float(end(program, triton, kind))


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("kind", KINDS)
def test_left_under_way(kind: str, left: str, triton: Any) -> None:
    """The program keeps its exit code, prints nothing, and waits for nothing."""
    for _ in range(amount("ends of processes")):
        assert any(seconds_to_end(left, triton, kind) < LIMIT for _ in range(ATTEMPTS))
