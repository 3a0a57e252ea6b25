"""Contexts are rewritten with all their uses, or stay, whatever holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import migrated, run, write

_START = """import sys
import types
import numpy as np
from tensorrtserver.api import *

row = np.arange(16, dtype=np.int32)
inputs = {"INPUT0": [row], "INPUT1": [row]}
outputs = {"OUTPUT0": InferContext.ResultFormat.RAW}

def show(result):
    print(result["OUTPUT0"][0].sum())

"""
_CONTEXT = 'InferContext(sys.argv[1], ProtocolType.GRPC, "simple")'
_HEALTH = "ServerHealthContext(sys.argv[1], ProtocolType.GRPC)"
_AWAITED = """import asyncio
from functools import partial
queue = asyncio.Queue()
queue.put_nowait({})
async def fetch():
    return await queue.get()
"""
_CACHE = """cache = {}
def get(model):
    if model not in cache:
        cache[model] = InferContext(sys.argv[1], ProtocolType.GRPC, model)
    return cache[model]
show(get('simple').run(inputs, outputs))
"""
WAYS = {
    "pairs": f"all = dict((n, {_CONTEXT}) for n in 'ab')\nshow(all['a'].run(inputs, outputs))\n",
    "keyword": f"all = dict(a={_CONTEXT})\nshow(all['a'].run(inputs, outputs))\n",
    "object": f"all = types.SimpleNamespace(a={_HEALTH})\nprint(all.a.is_live())\n",
    "update": f"all = {{}}\nall.update(a={_HEALTH})\nprint(all['a'].is_live())\n",
    "text": f"ctx = {_CONTEXT}\nshow(eval('ctx.run(inputs, outputs)'))\n",
    "slots": (
        "class Model:\n    __slots__ = ('ctx',)\n\n    def __init__(self, name):\n"
        "        self.ctx = InferContext(sys.argv[1], ProtocolType.GRPC, name)\n\n"
        "    def ask(self):\n        show(self.ctx.run(inputs, outputs))\n\n"
        "    def close(self):\n        self.ctx.close()\n\n"
        "model = Model('simple')\nmodel.ask()\nmodel.close()\n"
    ),
    "override": (
        "class Fake:\n    def run(self, inputs, outputs):\n"
        "        return {'OUTPUT0': [row * 3]}\n\n"
        f"class Model:\n    def connect(self):\n        return {_CONTEXT}\n\n"
        "    def ask(self):\n        show(self.connect().run(inputs, outputs))\n\n"
        "class Other(Model):\n    def connect(self):\n        return Fake()\n\n"
        "Model().ask()\nOther().ask()\n"
    ),
    "targets": (
        f"ctx = {_CONTEXT}\n"
        "print([ctx.run(dict(INPUT0=[a], INPUT1=[b]), dict(outputs), 1)['OUTPUT0'][0][15] "
        "for a, b in [(row, row)]])\n"
    ),
    "awaited method": _AWAITED.format(_CONTEXT)
    + "call = partial(asyncio.run(fetch()).run, inputs, outputs)\nshow(call())\n",
    "awaited in a function": _AWAITED.format(_CONTEXT)
    + "async def ask():\n    ctx = await queue.get()\n"
    "    return partial(ctx.run, inputs, outputs)\n"
    "show(asyncio.run(ask())())\n",
    "methods of a list": (
        f"all = list(map(lambda ctx: ctx, [{_CONTEXT}]))\n"
        "for run in [ctx.run for ctx in all]:\n    show(run(inputs, outputs))\n"
    ),
    "method of an unknown manager": (
        "import contextlib\n"
        f"stack = contextlib.ExitStack()\nkept = contextlib.nullcontext({_CONTEXT})\n"
        "with kept as ctx:\n    run = ctx.run\n    show(run(inputs, outputs))\n"
    ),
    "health awaited": _AWAITED.format(_HEALTH)
    + "h = asyncio.run(fetch())\nprint(h.is_live())\ncall = h.is_ready\nprint(call())\n",
    "formats in a table": (
        f"def first(rows):\n    return rows[0][3]\n\nctx = {_CONTEXT}\n"
        "for form, read in [(InferContext.ResultFormat.RAW, first)]:\n"
        "    print(read(ctx.run(inputs, {'OUTPUT0': form})['OUTPUT0']))\n"
    ),
    "classes in a table": (
        f"def first(rows):\n    return rows[0][0][0]\n\nctx = {_CONTEXT}\n"
        "for form, read in [(InferContext.ResultFormat.CLASS, first)]:\n"
        "    print(read(ctx.run(inputs, {'OUTPUT0': (form, 1)})['OUTPUT0']))\n"
    ),
    "closed by popitem": (
        _CACHE + "while cache:\n    _, ctx = cache.popitem()\n    ctx.close()\nprint(cache)\n"
    ),
    "closed by next": (
        _CACHE + "ctx = next(iter(cache.values()))\nctx.close()\nprint(len(cache))\n"
    ),
    "generator of a generator": (
        f"def make():\n    yield {_HEALTH}\n\ndef all():\n    yield from make()\n\n"
        "print([h.is_live() for h in make()])\nfor h in all():\n    print(h.is_ready())\n"
    ),
    "dict of a dict": (
        f"one = {{'a': {_HEALTH}}}\nall = {{**one}}\n"
        "print(one['a'].is_live())\nprint(all['a'].is_ready())\n"
    ),
    "health called here and awaited": (
        f"import asyncio\nh = {_HEALTH}\nprint(h.is_live())\n"
        "async def give():\n    return h\n"
        "async def main():\n    print((await give()).is_ready())\n"
        "asyncio.run(main())\n"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_contexts_wherever_they_are(way: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program prints before and after equal output."""
    script = tmp_path / "script.py"
    script.write_text(_START + WAYS[way])
    before = run(script, triton.grpc)
    assert before.status == 0, before.output
    for unsafe in (False, True):
        write(migrated(_START + WAYS[way], unsafe=unsafe), script)
        assert run(script, triton.grpc) == before
