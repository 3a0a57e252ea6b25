"""The method ``run`` of a context, handed on without its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import CONTEXT, STAR, migrated, run, todo
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions

_PROGRAM = """import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import numpy as np
from tensorrtserver.api import *

url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
TOP = {"OUTPUT0": (InferContext.ResultFormat.CLASS, 1)}


def rows(n):
    return {"INPUT0": [np.full(16, n, np.int32)], "INPUT1": [np.ones(16, np.int32)]}


async def in_loop():
    ctx = InferContext(url, protocol, "simple")
    loop = asyncio.get_running_loop()
    print((await loop.run_in_executor(None, ctx.run, rows(1), RAW, 1))["OUTPUT0"][0][0])
    call = partial(ctx.run, rows(2), batch_size=1, priority=1)
    print((await loop.run_in_executor(None, call, RAW))["OUTPUT0"][0][0])
    ctx.close()


asyncio.run(in_loop())
contexts = [InferContext(url, protocol, "simple", 1) for _ in range(3)]
with ThreadPoolExecutor(3) as pool:
    futures = [pool.submit(c.run, rows(n), RAW) for n, c in enumerate(contexts)]
    print([future.result()["OUTPUT0"][0][0] for future in futures])
    print(pool.submit(contexts[0].run, rows(1), TOP, 1).result()["OUTPUT0"][0][0][:2])
ask = contexts[1].run
print(ask(rows(7), RAW)["OUTPUT0"][0][0], list(map(contexts[2].run, [rows(8)], [RAW]))[0].keys())
"""


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_same_on_a_server(protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program that hands ``run`` to threads prints before and after equal output."""
    script = tmp_path / "script.py"
    script.write_text(_PROGRAM)
    before = run(script, triton.url(protocol), protocol)
    assert before.status == 0, before.output
    migration = migrate("script.py", script.read_bytes(), MigrateOptions(unsafe=True))
    assert todo(migration) == []
    assert migrated(_PROGRAM, unsafe=False).after.count(b"contexts[1].run") == 1
    script.write_bytes(migration.after)
    assert run(script, triton.url(protocol), protocol) == before


@pytest.mark.parametrize(
    "use",
    [
        "print(ctx.run.__self__)",
        "start(ctx.async_run)",
        "start(ctx.get_stat)",
        "region = create_shared_memory_region('r', '/r', 4)\nstart(ctx.run)",
        "start(ctx.run if x else ctx.async_run)",
    ],
)
def test_method_that_stays(use: str) -> None:
    """Other methods, and ``run`` where it may get regions or is asked for its object, stay."""
    start = f"from tensorrtserver.shared_memory import *\n{STAR}{CONTEXT}"
    migration = migrated(f"{start}{use}\n")
    assert "3:TS050" in todo(migration)
    kept = [row for row in migration.after.decode().splitlines() if row[:1] != "#"]
    assert kept[-len(use.splitlines()) :] == use.splitlines()


def test_client_of_threads() -> None:
    """Over HTTP each thread has a client: who gets the method may call it in a thread."""
    source = f"{STAR}ctx = InferContext('u', 0, 'm')\nstart(ctx.run, i, o)\n"
    assert b"InferModel(http_client('u'), 'm')" in migrated(source).after


def test_method_in_a_program_of_several_files(tmp_path: Path) -> None:
    """In a program of several files ``run`` stays: another file may give it v1's formats."""
    (tmp_path / "client.py").write_text(f"{STAR}{CONTEXT}start(ctx.run)\n")
    (tmp_path / "other.py").write_text("import client\n")
    assert main(["migrate", "--write", "--unsafe", str(tmp_path)]) == 1
    assert "start(ctx.run)" in (tmp_path / "client.py").read_text()
    assert "InferContext(" in (tmp_path / "client.py").read_text()
