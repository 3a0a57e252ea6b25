"""Contexts that several threads use, which over HTTP need a client for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, body, migrated, run, todo, write

_MADE = 'InferContext("u", p, "m")'
_USED = "def use(x):\n    return ctx.run(x, o)\n"
_SHARED = {
    "submitted": f"{_USED}ctx = {_MADE}\nThreadPoolExecutor(2).submit(use, i)\n",
    "mapped": f"{_USED}ctx = {_MADE}\npool.map(use, every)\n",
    "target": f"{_USED}ctx = {_MADE}\nThread(target=use, args=(i,)).start()\n",
    "in another function": f"{_USED}ctx = {_MADE}\nThread(target=lambda: use(i)).start()\n",
    "event loop": f"{_USED}ctx = {_MADE}\nloop.run_in_executor(None, use, i)\n",
    "class": f"class A(threading.Thread):\n    def __init__(self):\n        self.ctx = {_MADE}\n"
    "    def run(self):\n        self.ctx.run(i, o)\nA().start()\n",
    "handler": "class A(BaseHTTPRequestHandler):\n    def do_GET(self):\n        ctx.run(i, o)\n"
    f"ctx = {_MADE}\n",
    "route": f"@app.route('/', methods=['POST'])\n{_USED}ctx = {_MADE}\n",
    "made when first used": "ctx = None\n@app.route('/')\ndef use():\n    global ctx\n"
    f"    if ctx is None:\n        ctx = {_MADE}\n    return ctx.run(i, o)\n",
}
_OWN = {
    "made in the thread": f"def use(x):\n    ctx = {_MADE}\n    return ctx.run(x, o)\n"
    "pool.map(use, every)\n",
    "of each thread": f"own = threading.local()\ndef start():\n    own.ctx = {_MADE}\n"
    "def use(x):\n    return own.ctx.run(x, o)\n"
    "ThreadPoolExecutor(2, initializer=start).map(use, every)\n",
    "no thread": f"{_USED}ctx = {_MADE}\nlist(map(use, every))\n",
}


@pytest.mark.parametrize("source", _SHARED.values(), ids=list(_SHARED))
def test_client_for_each_thread(source: str) -> None:
    """Over HTTP a client that several threads may use is one that is made anew for each."""
    assert "connect(httpclient, " in body(source, "http")
    assert "connect(" not in body(source, "grpc")


@pytest.mark.parametrize("source", _OWN.values(), ids=list(_OWN))
def test_client_of_one_thread(source: str) -> None:
    """A client stays as it is where one thread alone uses it."""
    assert "connect(" not in body(source, "http")


PROGRAM = """import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np


def ask(ctx, n):
    inputs = {"INPUT0": [np.arange(n, dtype=np.int64)]}
    result = ctx.run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
    return int(result["OUTPUT0"][0].sum())


ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int64")
with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
    print([pool.submit(ask, ctx, n).result() for n in range(1, 4) for pool in (one, other)])
print(ask(ctx, 4))
"""


def test_threads_in_turn(triton: TritonServer, tmp_path: Path) -> None:
    """A context that two threads use in turn answers as before when it is migrated."""
    script = tmp_path / "script.py"
    found = migrated(STAR + PROGRAM, "http")
    assert todo(found) == []
    write(found, script)
    ended = run(script, triton.http, "http")
    assert ended.output == "[0, 0, 1, 1, 3, 3]\n6\n"
