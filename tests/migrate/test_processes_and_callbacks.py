"""Forked processes, callbacks and refused asynchronous requests do as before their migration."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, body, check_same, migrated, run, todo
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.options import State

_FORKED = """import multiprocessing
import os
import sys
import numpy as np
from tensorrtserver.api import *

{start}
def square(n):
    outputs = {{"OUTPUT0": InferContext.ResultFormat.RAW}}
    return int(ctx.run({{"INPUT0": [np.array([n * n], np.int32)]}}, outputs)["OUTPUT0"][0][0])

if __name__ == "__main__":
    {main}
    with multiprocessing.get_context("fork").Pool(3{more}) as pool:
        print(pool.map(square, range(12), chunksize=1))
"""
_CONTEXT = 'ctx = InferContext(sys.argv[1], ProtocolType.HTTP, "identity_int32")\n'
_INITIALIZED = {
    "start": f"def connect():\n    global ctx\n    {_CONTEXT}\n",
    "main": "pass",
    "more": ", connect",
}
_CALLBACKS = """import sys
import threading
import time
import numpy as np
from tensorrtserver.api import *

total = 0
done = threading.Event()

def add(ctx, request_id):
    global total
    ctx.get_async_run_results(request_id)
    before = total
    time.sleep(0.01)
    total = before + 1
    if total == 20:
        done.set()

ctx = InferContext(sys.argv[1], ProtocolType.GRPC, "identity_int32")
for n in range(20):
    outputs = {"OUTPUT0": InferContext.ResultFormat.RAW}
    ctx.async_run(add, {"INPUT0": [np.array([n], np.int32)]}, outputs)
done.wait(20)
print(total)
"""
_REFUSED = """import contextlib
import functools
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from tensorrtserver.api import *

ctx = InferContext(sys.argv[1], ProtocolType.GRPC, "identity_int32")

{decorator}
def send():
    outputs = {{"OUTPUT0": InferContext.ResultFormat.RAW}}
    ctx.async_run(lambda ctx, id: None, {{"OTHER": [np.zeros(1, np.int32)]}}, outputs)
    print("sent")

{code}
"""
_TRY = """
try:
    {}
except InferenceServerException:
    print("refused")
"""
_REPORTED = """
@contextlib.contextmanager
def reported():
    try:
        yield
    except InferenceServerException:
        print("refused")
"""
#: Ways to handle an error that ``async_run`` raises at once.
_HANDLING = {
    "try": _TRY.format("send()"),
    "suppress": "with contextlib.suppress(Exception):\n    send()",
    "manager": f"{_REPORTED}with reported():\n    send()",
    "future": "print(repr(ThreadPoolExecutor().submit(send).exception()))",
    "map": f"calls = map(lambda n: send(), range(1)){_TRY.format('list(calls)')}",
    "generator": f"def sends():\n    yield send()\n\ncalls = sends(){_TRY.format('list(calls)')}",
}
_DECORATED = """
def reporting(function):
    @functools.wraps(function)
    def call():
        try:
            function()
        except InferenceServerException:
            print("refused")
    return call
"""


def _same(source: str, url: str, folder: Path, *options: str) -> None:
    """Migrate a program. It prints before and after equal output."""
    script = folder / "script.py"
    script.write_text(source)
    before = run(script, url)
    assert before.status == 0, before.output
    main(["migrate", "--write", *options, str(script)])
    assert run(script, url) == before


@pytest.mark.parametrize("options", [(), ("--unsafe",)], ids=["safe", "unsafe"])
def test_context_of_the_parent_process(
    options: tuple[str, ...], triton: TritonServer, tmp_path: Path
) -> None:
    """Forked processes that use a context of their parent do as before."""
    source = _FORKED.format(start=_CONTEXT, main="print(square(5))", more="")
    _same(source, triton.http, tmp_path, *options)


def test_context_of_the_process(triton: TritonServer, tmp_path: Path) -> None:
    """A context that each process makes itself is rewritten."""
    source = _FORKED.format(**_INITIALIZED)
    _same(source, triton.http, tmp_path)
    assert todo(migrated(source, unsafe=False)) == []
    called = source.replace("    pass\n", "    connect()\n")
    assert todo(migrated(called, unsafe=False)) != []


def test_callbacks_do_not_overlap(triton: TritonServer, tmp_path: Path) -> None:
    """Callbacks of one context run one after another, as v1's did."""
    assert todo(migrated(_CALLBACKS, unsafe=False)) == []
    _same(_CALLBACKS, triton.grpc, tmp_path)


@pytest.mark.parametrize("handling", _HANDLING)
def test_refused_asynchronous_request(handling: str, triton: TritonServer, tmp_path: Path) -> None:
    """An asynchronous request stays where the program may handle its error at once."""
    source = _REFUSED.format(decorator="", code=_HANDLING[handling])
    _same(source, triton.grpc, tmp_path)


def test_refused_request_of_a_decorated_function(triton: TritonServer, tmp_path: Path) -> None:
    """An asynchronous request stays in a function whose decorator may handle its error."""
    source = _REFUSED.format(decorator=f"{_DECORATED}@reporting", code="send()")
    _same(source, triton.grpc, tmp_path)


def test_unsafe_asynchronous_request_in_a_try() -> None:
    """With ``--unsafe`` it is rewritten, and reported as unsafe."""
    source = _REFUSED.format(decorator="", code=_HANDLING["try"])
    states = [outcome.state for row, outcome in migrated(source).uses if row.entry.id == "TS052"]
    assert states == [State.UNSAFE]


def test_unhandled_asynchronous_request() -> None:
    """Without handlers, and with handlers of other calls, it is rewritten."""
    other = "try:\n    open('x')\nexcept OSError:\n    pass\nsend()"
    target = "import threading\nthreading.Thread(target=send).start()"
    ended = "try:\n    send()\nfinally:\n    print()"
    for code in ("send()", other, target, ended, "with open('x'):\n    send()"):
        assert todo(migrated(_REFUSED.format(decorator="", code=code), unsafe=False)) == []


def test_pool_of_threads() -> None:
    """A pool of threads of multiprocessing starts no processes."""
    source = f"{_CONTEXT}def ask():\n    ctx.run(i, o)\n"
    for line in (
        "from multiprocessing.pool import ThreadPool",
        "from multiprocessing.dummy import *",
    ):
        assert todo(migrated(f"{line}\n{STAR}{source}", unsafe=False)) == []
    assert "InferContext" in body(f"import multiprocessing\n{source}", unsafe=False)


@pytest.mark.parametrize(
    "line",
    [
        *("import os, multiprocessing", "import os; import multiprocessing as m", "import ray"),
        *("from torch import multiprocessing", "from os import fork\nfork()"),
        "from multiprocessing.pool import ThreadPool, Pool",
    ],
)
def test_imports_that_start_processes(line: str) -> None:
    """A context that processes may inherit stays, however the program imports what starts them."""
    source = f"{_CONTEXT}def ask():\n    ctx.run(i, o)\n"
    assert "InferContext" in body(f"{line}\n{source}", unsafe=False)


_FAILING = """import sys
import numpy as np
from {module}
from tensorrtserver.api import *

def ask(value):
    ctx = InferContext(sys.argv[1], ProtocolType.HTTP, "failing")
    outputs = {{"OUTPUT0": InferContext.ResultFormat.RAW}}
    return ctx.run({{"INPUT0": [np.array([value], np.float32)]}}, outputs)["OUTPUT0"][0].tolist()

if __name__ == "__main__":
    with {pool} as pool:
        for value in (0, 3):
            try:
                print(pool.{call})
            except InferenceServerException:
                print("refused")
"""


@pytest.mark.parametrize(
    ("module", "pool", "call"),
    [
        (
            "multiprocessing import get_context",
            "get_context('spawn').Pool(1)",
            "apply(ask, [value])",
        ),
        (
            "concurrent.futures import ProcessPoolExecutor",
            "ProcessPoolExecutor(1)",
            "submit(ask, value).result()",
        ),
    ],
)
def test_errors_of_processes(
    module: str, pool: str, call: str, triton: TritonServer, tmp_path: Path
) -> None:
    """An error of a request reaches the process that waits for it."""
    source = _FAILING.format(module=module, pool=pool, call=call)
    before = check_same(source, tmp_path, triton.http)
    assert before.output == "[0.0]\nrefused\n"


_WORKERS = """import multiprocessing
import sys
import numpy as np
from multiprocessing import Pool, Process, Queue
from tensorrtserver.api import *

ctx = None

def connect():
    global ctx
    ctx = InferContext(sys.argv[1], ProtocolType.HTTP, "identity_int32")

def square(n):
    outputs = {{"OUTPUT0": InferContext.ResultFormat.RAW}}
    return int(ctx.run({{"INPUT0": [np.array([n * n], np.int32)]}}, outputs)["OUTPUT0"][0][0])

def work(tasks, results):
    {work}
    for n in iter(tasks.get, None):
        results.put(square(n))
    ctx.close()

if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    {main}
    with Pool(2, connect) as pool:
        print(pool.map(square, range(4)))
    tasks, results = Queue(), Queue()
    process = {process}
    process.start()
    for n in [3, 4, None]:
        tasks.put(n)
    print([results.get(), results.get()])
    process.join()
"""
_PROCESS = "Process(target=work, args=(tasks, results))"


def test_context_that_only_new_processes_make(triton: TritonServer, tmp_path: Path) -> None:
    """A function that only the functions of new processes call connects in these."""
    source = _WORKERS.format(work="connect()", main="pass", process=_PROCESS)
    assert todo(migrated(source)) == []
    _same(source, triton.http, tmp_path)


@pytest.mark.parametrize(
    ("work", "main", "process"),
    [
        ("connect()", "connect()", _PROCESS),
        ("connect()", "work(Queue(), Queue())", _PROCESS),
        ("connect()", "first = connect", _PROCESS),
        ("connect(); Process(target=square, args=(3,)).start()", "pass", _PROCESS),
        ("connect()", "pass", "threading.Thread(target=work, args=(tasks, results))"),
        ("connect()", "Process = Thread", _PROCESS),
    ],
)
def test_context_that_a_parent_may_make(work: str, main: str, process: str) -> None:
    """A context stays if the parent may call what connects, or a child may start processes."""
    migration = migrated(_WORKERS.format(work=work, main=main, process=process))
    assert "11:TS050" in todo(migration)
