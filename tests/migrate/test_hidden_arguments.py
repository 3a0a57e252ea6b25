"""Contexts and requests whose arguments ``*`` or ``**`` hides become an ``InferModel``."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, body, migrated, run, todo, write

#: Programs for a url and a protocol's number.
_PROGRAMS = {
    "a dict": """\
        options = dict(model_version=1, verbose=False)
        ctx = InferContext(url, protocol, "simple", **options)
        print(ctx.run(inputs, outputs, 1)["OUTPUT0"][0].sum())
        ctx.close()
        """,
    "a tuple": """\
        with InferContext(*(url, protocol), model_name="simple") as ctx:
            print(ctx.run(inputs, outputs)["OUTPUT0"][0].sum())
        """,
    "headers": """\
        ctx = InferContext(url, protocol, "simple", **{"http_headers": ["x-a: 1", b"x-b: 2"]})
        print(ctx.run(inputs, outputs)["OUTPUT1"][0].tolist())
        """,
    "a sequence": """\
        ctx = InferContext(url, protocol, "sequence_sum", **{"correlation_id": 4107})
        row = {"INPUT": [np.array([7], np.int32)]}
        for flags in (1, 0, 2):
            result = ctx.run(row, {"OUTPUT": InferContext.ResultFormat.RAW}, 1, flags)
            print(result["OUTPUT"][0].tolist(), ctx.correlation_id())
        """,
    "a request": """\
        def ask(ctx, **options):
            return ctx.run(inputs, outputs, 1, **options)["OUTPUT0"][0].sum()
        ctx = InferContext(url, protocol, "simple")
        print(ask(ctx), ask(ctx, priority=1, timeout_us=5000000))
        """,
    "an unknown model": """\
        try:
            InferContext(url, protocol, **{"model_name": "nothing"})
        except InferenceServerException as error:
            print("unknown")
        """,
}
_START = """\
import sys
import numpy as np
from tensorrtserver.api import *
url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
row = np.arange(16, dtype=np.int32)
inputs = {"INPUT0": [row], "INPUT1": [row]}
outputs = {name: InferContext.ResultFormat.RAW for name in ("OUTPUT0", "OUTPUT1")}
"""


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_same_on_a_server(name: str, protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program with hidden arguments prints the same after migration, and nothing is left."""
    lines = _PROGRAMS[name].splitlines(keepends=True)
    source = _START + "".join(line[8:] for line in lines)
    script = tmp_path / "script.py"
    script.write_text(source, "utf-8")
    before = run(script, triton.url(protocol), protocol)
    assert before[0] == 0 and before[1]
    migration = migrated(source)
    assert not todo(migration)
    write(migration, script)
    assert "tensorrtserver" not in script.read_text("utf-8")
    assert run(script, triton.url(protocol), protocol) == before


def test_arguments_stay() -> None:
    """The call gets another function, and keeps its arguments, which are evaluated once."""
    source = "ctx = InferContext(u, 1, name, **options())\nctx.run(i, o)\nctx.close()\n"
    new = 'ctx = infer_model(u, "grpc", name, **options())\nctx.run(i, o)\nctx.close()\n'
    assert body(source.replace("1,", "ProtocolType.GRPC,")) == new


@pytest.mark.parametrize(
    "source",
    [
        "h = ServerHealthContext(*server)\nh.is_live()\n",
        "c = InferContext(u, 1, 'm', **more)\nc.async_run(print, i, o)\n",
        "c = InferContext(u, 1, 'm')\nc.async_run(print, i, o, **more)\n",
        "c = InferContext(u, 1, 'm')\nc.run(*arguments)\n",
        "class C(InferContext):\n"
        "    def __init__(self, *a):\n"
        "        InferContext.__init__(self, *a)\n",
        "h = create_shared_memory_region('a', '/a', 4)\nInferContext(u, 1, 'm', **m).run(i, o)\n",
    ],
    ids=["health", "asynchronous", "options", "all of a request", "subclass", "regions"],
)
def test_what_stays(source: str) -> None:
    """Other hidden arguments stay, with the reason."""
    more = "from tensorrtserver.shared_memory import *\n" if "create" in source else ""
    reasons = [outcome.what for _, outcome in migrated(STAR + more + source).uses if outcome.todo]
    expected = ("name the arguments", "give the request its inputs and outputs in the call")
    assert any(reason.startswith(expected) for reason in reasons)


def test_protocol_from_elsewhere() -> None:
    """A protocol that is hidden, too, needs --unsafe."""
    source = f"{STAR}ctx = InferContext(*server, model_name='m')\nctx.run(i, o)\n"
    assert "2:TS050" in todo(migrated(source, unsafe=False))
    assert not todo(migrated(source))
