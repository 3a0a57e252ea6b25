"""Rewrites of legacy uses in small sources."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc

from testbed import TritonServer
from tests.migrate.sources_migrated import CONTEXT, STAR, body, helpers_text, migrated, run, todo
from tritonclient_shim.migrate import helpers
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.migrate.program import Program
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of
from tritonclient_shim.scan.scopes import Scopes


def test_protocol_of_the_program() -> None:
    """A protocol chosen at run time stays chosen, unless the option names a protocol."""
    source = 'p = ProtocolType.from_str(text)\nh = ServerHealthContext("u", p)\n'
    chosen = 'p = protocol_name(text)\nh = connect(p, "u")\n'
    assert body(source) == chosen
    assert 'h = httpclient.InferenceServerClient("u", connection_timeout=300' in body(
        source, "http"
    )
    assert "\n\n\ndef connect(" in migrated(STAR + source).after.decode()


def test_star_import_that_stays() -> None:
    """What is imported anew stands below it: it binds v1's exception to the same name."""
    source = f"import tensorrtserver.api\n{STAR}{CONTEXT}c = ServerStatusContext('u', 1)\n"
    use = "c.get_last_request_id()\ntry:\n    ctx.run(i, o)\nexcept InferenceServerException: 0\n"
    text = migrated(source + use).after.decode()
    assert STAR in text.partition("from tritonclient.utils import")[0]


def test_name_that_is_bound_anew_later() -> None:
    """A name is that of the star import until the file binds it anew."""
    again = "from tensorrtserver.api import InferContext\n"
    assert "ctx = grpcclient.InferenceServerClient(" in body(f"{CONTEXT}ctx.run(i, o)\n{again}")


def test_star_import_becomes_names() -> None:
    """Names that only the star import bound are imported by name if they are used."""
    text = migrated(STAR + "try:\n    print(np, sys)\nexcept InferenceServerException:\n    pass\n")
    assert text.after.decode() == (
        "import sys\n\n"
        "import numpy as np\nfrom tritonclient.utils import InferenceServerException\n\n"
        "try:\n    print(np, sys)\nexcept InferenceServerException:\n    pass\n"
    )


def test_context_stays_with_a_use_that_stays() -> None:
    """A use that stays keeps its context, and no other context. A comment says why."""
    why = "read client.get_inference_statistics(model_name) for infer_stats"
    source = (
        f'{STAR}{CONTEXT}r = ctx.run(i, o)\ns = ServerStatusContext("u", 1).get_server_status()\n'
        "print(len(s.model_status['m'].version_status[1].infer_stats))\n"
    )
    migration = migrated(source)
    assert set(todo(migration)) == {"1:TS001", "4:TS025", "4:TS026"}
    assert f"# TODO(TS026): {why}" in migration.after.decode()
    assert migrated(migration.after.decode()).after == migration.after


def test_unsafe_needs_the_option() -> None:
    """Without --unsafe, a rewrite that programs may notice is reported and not done."""
    source = f"{STAR}{CONTEXT}ctx.run(i, {{'O': (InferContext.ResultFormat.CLASS, 2)}})\n"
    migration = migrated(source, unsafe=False)
    assert not migration.changed
    reasons = {row.entry.id: outcome.what for row, outcome in migration.uses}
    assert reasons["TS051"] == reason_of([UnsafeChange.DECIMALS])


def test_error_that_tells_of_the_server() -> None:
    """The ids of an error keep the contexts that raise it."""
    source = f"try:\n    {CONTEXT}except InferenceServerException as e:\n    e.request_id()\n"
    migration = migrated(STAR + source)
    assert {"3:TS050", "4:TS015", "5:TS017"} <= set(todo(migration))
    assert "tritonclient.utils" not in migration.after.decode()
    assert migrated(migration.after.decode()).after == migration.after
    assert "3:TS050" in todo(migrated(STAR + source.replace("e.req", "get().req")))


def test_imports_in_a_block() -> None:
    """Two imports of a block that need one successor get it once."""
    source = (
        "try:\n    from tensorrtserver.api import *\n"
        "    from tensorrtserver.api import InferenceServerException\n"
        "except ImportError:\n    pass\nprint(InferenceServerException)\n"
    )
    text = migrated(source).after.decode()
    block = text.partition("try:")[2]
    assert block.count("from tritonclient.utils import InferenceServerException") == 1


@pytest.mark.parametrize("read", ["infer_stats[1]", "SerializeToString()", "HasField('config')"])
def test_status_of_which_more_is_read(read: str) -> None:
    """A status stays if the program reads a part that no server returns."""
    source = f'{STAR}s = ServerStatusContext("u", 1).get_server_status()\nprint(s.{read})\n'
    assert "2:TS026" in todo(migrated(source))


def test_one_comment_for_a_line() -> None:
    """The reason against rewriting a use is reported once, with all its ids."""
    source = f'{STAR}c = ServerHealthContext(*url, verbose=True, http_headers=["A: b"])\n'
    text = migrated(source).after.decode()
    assert text.count("# TODO(") == 1


@pytest.mark.parametrize(
    "use", ["print(p)", "str(p).lower()", "'%s' % p", "f'{p}'", "'{}'.format(p)", "log.info('', p)"]
)
def test_text_of_a_protocol(use: str) -> None:
    """If a program prints a protocol, v1's class stays, and the contexts do not."""
    source = f'p = ProtocolType.from_str(t)\nServerHealthContext("u", p).is_live()\n{use}\n'
    migration = migrated(STAR + source)
    once = migration.after.decode()
    assert todo(migration) == ["1:TS001", "2:TS011"]
    assert 'p = ProtocolType.from_str(t)\nconnect(protocol_of(p), "u").is_server_live()\n' in once
    assert migrated(once).after.decode() == once


def test_protocols_of_a_file_stay_together() -> None:
    """A protocol that cannot become a name keeps v1's class for all protocols of the file."""
    source = 'p = ProtocolType(n)\nServerHealthContext("u", p)\nprint(p == ProtocolType.GRPC)\n'
    migration = migrated(STAR + source)
    assert todo(migration) == ["1:TS001", "2:TS010", "4:TS010"]
    assert 'connect(protocol_of(p), "u")' in migration.after.decode()


def test_raw_stub() -> None:
    """v1's raw stub becomes a stub of the helpers, unless a call or a read has no successor."""
    source = (
        "from tensorrtserver.api import grpc_service_pb2 as pb, grpc_service_pb2_grpc as g\n"
        "s = g.GRPCServiceStub(channel)\ns.Infer.future(pb.InferRequest(model_name='m'))\n"
    )
    assert (
        migrated(source)
        .after.decode()
        .endswith("\n\n\ns = InferStub(channel)\ns.infer_future(Record(model_name='m'))\n")
    )
    assert not migrated(source, unsafe=False).changed
    read = "s.Status(pb.StatusRequest()).server_status.model_status['m'].version_status\n"
    assert "# TODO(TS072): use a client" in migrated(f"{source}{read}").after.decode()
    text = migrated(f"{source}s.Profile(pb.ProfileRequest())\n").after.decode()
    assert "# TODO(TS072): use a client, or KServe's messages and stub, in place of v1's" in text
    assert migrated(text).after.decode() == text


def test_cuda_memory() -> None:
    """CUDA memory becomes regions with a raw handle. Its module is imported at the first use."""
    source = (
        "from tensorrtserver.api import SharedMemoryControlContext\n"
        "import tensorrtserver.cuda_shared_memory as cuda\n"
        "h = cuda.create_shared_memory_region('a', 64, 0)\n"
        "cuda.set_shared_memory_region(h, [x])\n"
        "c = SharedMemoryControlContext('u', 1)\nc.cuda_register(h)\nc.unregister(h)\n"
        "cuda.destroy_shared_memory_region(h)\n"
    )
    migration = migrated(source)
    assert todo(migration) == []
    assert migration.after.decode().endswith(
        "h = create_cuda_region('a', 64, 0)\n"
        "cuda_memory().set_shared_memory_region(h.handle, [x])\n"
        "c = grpcclient.InferenceServerClient('u')\n"
        "c.register_cuda_shared_memory(h.name, h.key, h.device_id, h.byte_size)\n"
        "unregister_region(c, h)\ncuda_memory().destroy_shared_memory_region(h.handle)\n"
    )


def test_handle_that_is_not_known() -> None:
    """An output in shared memory whose handle may be another's needs --unsafe."""
    outputs = "{'o': (InferContext.ResultFormat.RAW, handle)}"
    for source in (f"ctx.run(i, {outputs})\n", f"o = {outputs}\nctx.run(i, o)\n"):
        safe = migrated(STAR + CONTEXT + source, unsafe=False)
        assert safe.after == safe.before
        assert "infer_in_regions(ctx" in body(CONTEXT + source)


def test_handle_of_another_function() -> None:
    """With --unsafe, a handle of unknown origin counts as a region."""
    source = "c = SharedMemoryControlContext(u, 1)\ndef f(h):\n    c.register(h)\n"
    assert todo(migrated(STAR + source)) == []
    assert "h.name, h.key, h.byte_size" in body(source)
    assert "4:TS041" in todo(migrated(STAR + source, unsafe=False))


@pytest.mark.parametrize("start", ["(b if f else a).", "put = b."])
def test_memory_of_a_module_that_is_chosen(start: str) -> None:
    """A function of shared memory that is chosen at run time stays, and so do its regions."""
    source = (
        "import tensorrtserver.shared_memory as a, tensorrtserver.cuda_shared_memory as b\n"
        "h = a.create_shared_memory_region('a', '/a', 64)\n"
        f"{start}set_shared_memory_region{'' if '=' in start else '(h, [x])'}\n"
    )
    migration = migrated(source)
    left = [line for line in migration.after.splitlines() if not line.startswith(b"#")]
    assert left == migration.before.splitlines()


def test_forms_out_of_sight_stay_with_a_class_that_stays() -> None:
    """A request whose outputs may be CLASS stays if a use of CLASS stays."""
    source = (
        f"{CONTEXT}wanted = {{'O': (InferContext.ResultFormat.CLASS, 2)}}\nctx.run(i, wanted)\n"
    )
    assert body(source, unsafe=False).endswith("ctx.run(i, wanted)\n")
    assert 'infer(ctx, "simple", i, wanted)' in body(source)


def test_protocol_by_its_name() -> None:
    """A protocol from literal text becomes the text in lower case."""
    assert body('print(is_up(ProtocolType.from_str("gRPC")))\n', unsafe=False) == (
        'print(is_up("grpc"))\n'
    )


def test_method_that_is_called_on_its_class() -> None:
    """A method called on its class stays, also if the file makes only one object."""
    creation = "s = ServerStatusContext(u, 1)\n"
    source = f"{STAR}{creation}print(ServerStatusContext.get_server_status())\n"
    migration = migrated(source)
    assert "ServerStatusContext.get_server_status()" in migration.after.decode()
    assert "3:TS026" in todo(migration)


def test_status_of_an_unseen_model() -> None:
    """A status is unsafe if its model is not known where it is read: the helper has all models."""
    source = (
        "def make(n):\n    return ServerStatusContext('u', 1, n)\n"
        "c = make('m')\nprint(c.get_server_status().id)\n"
    )
    assert "print(get_server_status(c).id)\n" in body(source)
    uses = migrated(STAR + source, unsafe=False).uses
    assert "of all models" in next(x.what for row, x in uses if row.entry.id == "TS026")
    two = "c = ServerStatusContext('u', 1, 'a') if x else ServerStatusContext('u', 1, 'b')\n"
    assert "print(get_server_status(c).id)\n" in body(f"{two}print(c.get_server_status().id)\n")


_CONTROL = 'c = SharedMemoryControlContext("u", ProtocolType.GRPC)\n'


def test_status_of_shared_memory() -> None:
    """A helper returns the list of regions. A status that is used as a whole stays."""
    read = "status = c.get_shared_memory_status()\nprint(len(status.shared_memory_region))\n"
    assert "status = region_status(c)\n" in body(_CONTROL + read)
    whole = "x = str(c.get_shared_memory_status())\n"
    assert "3:TS045" in todo(migrated(f"{STAR}{_CONTROL}{whole}"))


def test_repository_index() -> None:
    """The index keeps its context: servers return a row for each version."""
    source = 'print(len(ModelRepositoryContext("u", 1).get_model_repository_index().models))\n'
    assert {"2:TS030", "2:TS031"} <= set(todo(migrated(STAR + source)))


_USED = "def use(x):\n    return ctx.run(x, o)\nctx = InferContext('u', p, 'm')\n"


@pytest.mark.parametrize(
    "threads",
    [
        *("from concurrent.futures import ThreadPoolExecutor", "import os, threading"),
        *("import os; import threading", "def f():\n    import flask", "import paho.mqtt.client"),
        *("from . import other", "threading.Thread(target=use).start()"),
        "import importlib\nmodule = importlib.import_module('threading')",
    ],
)
def test_client_for_each_thread(threads: str) -> None:
    """Over HTTP each thread gets a separate client if the file may have threads."""
    assert "class ThreadClient(" in migrated(f"{STAR}{threads}\n{_USED}", "http").after.decode()
    assert b"ThreadClient" not in migrated(f"{STAR}{threads}\n{_USED}", "grpc").after


@pytest.mark.parametrize("line", ["", "import os, numpy.linalg as la", "from PIL import Image"])
def test_client_of_one_thread(line: str) -> None:
    """Over HTTP there is one client if all modules that the file imports stay in its thread."""
    assert b"ThreadClient" not in migrated(f"{STAR}{line}\n{_USED}", "http").after


def test_error_of_a_constructor() -> None:
    """In a program with a handler, a client asks for its model at once, as the context did."""
    start = "def make(n='m'):\n    c = InferContext('u', 1, {})\n    return {}\n"
    made = start.format("n", "c.run(i, o)")
    tried = "try:\n    {}\nexcept InferenceServerException as e:\n    print(e.message())\n"
    asks = "c = with_model(grpcclient.InferenceServerClient('u'), {})"
    assert "ctx = with_model(" in body(tried.format(CONTEXT))
    assert asks.format("n") in body(made + tried.format("make(m)"))
    returned = body(start.format("'m'", "c") + tried.format("make().run(i, o)"))
    assert asks.format("'m'") in returned
    assert asks.format("n") in body(made + "def all():\n    make(m)\n" + tried.format("all()"))
    assert asks.format("n") in body(made + tried.format("other()"))
    assert "with_model(" not in body(made)


@pytest.mark.parametrize("facts", [["over_grpc"], []])
def test_model_configuration_is_fetched_once(facts: list[str], triton: TritonServer) -> None:
    """Requests fetch the model's configuration once, also for arrays of other datatypes."""
    helpers: dict[str, Any] = {}
    exec(helpers_text("infer", facts=["checked_arrays", *facts]), helpers)
    with tritonclient.grpc.InferenceServerClient(triton.grpc) as client:
        fetch, fetched = client.get_model_config, []

        @functools.wraps(fetch)
        def get_model_config(name: str, **options: Any) -> Any:
            fetched.append(name)
            return fetch(name, **options)

        client.get_model_config = get_model_config
        inputs = {f"INPUT{n}": [np.zeros(16, np.float32)] for n in (0, 1)}
        for _ in range(2):
            result = helpers["infer"](client, "simple", inputs, {"OUTPUT0": 0})
            assert result["OUTPUT0"][0].shape == (16,)
        assert fetched == ["simple"]


def test_header_without_a_colon() -> None:
    """A header without a colon is refused, as the context refused it."""
    helpers: dict[str, Any] = {}
    exec(helpers_text("http_client"), helpers)
    with pytest.raises(helpers["InferenceServerException"], match="header 'X 1' has no colon"):
        helpers["http_client"]("localhost:8000", ["X 1"])


def test_input_that_the_model_lacks(triton: TritonServer) -> None:
    """An input of another name is refused with v1's text, before anything is sent."""
    helpers: dict[str, Any] = {}
    exec(helpers_text("infer", facts=["checked_arrays"]), helpers)
    refused = pytest.raises(
        helpers["InferenceServerException"], match="unknown input 'X' for 'simple'"
    )
    with tritonclient.grpc.InferenceServerClient(triton.grpc) as client, refused:
        helpers["infer"](client, "simple", {"X": [np.zeros(16, np.int32)]}, {"OUTPUT0": 0})


def test_requests_over_http_need_no_grpc() -> None:
    """A program whose clients speak HTTP runs with ``tritonclient[http]`` alone."""
    source = f"{STAR}{CONTEXT}r = ctx.run(i, {{'OUTPUT0': InferContext.ResultFormat.RAW}})\n"
    text = migrated(source.replace("GRPC", "HTTP"), unsafe=False).after.decode()
    assert "def infer(" in text
    assert "grpc" not in text and "protobuf" not in text


def test_variables_of_a_script() -> None:
    """What only a rewritten call read goes from ``if __name__ == "__main__":``."""
    script = (
        "if __name__ == '__main__':\n"
        "    version, size = -1, 2\n"
        "    batch = 1\n"
        "    url = 'u'\n"
        "    ctx = InferContext(url, ProtocolType.GRPC, 'm')\n"
        "    ctx.run(i, o, batch)\n"
    )
    text = body(script)
    assert "batch" not in text and "url = 'u'" in text and "version, size = -1, 2" in text
    assert "batch = 1" in body(f"def f(): return batch\n{script}")
    assert "batch = 1" in body(f"batch = 1\n{CONTEXT}ctx.run(i, o, batch)\n")


def test_class_with_a_name_of_the_file() -> None:
    """A class of the helpers whose name the file uses gets another name there."""
    name = "InferModel"
    source = f'{STAR}{name} = 3\nmake = InferContext\nmake("u", p, "m").run(i, o)\n'
    text = migrated(source, "grpc").after.decode()
    assert f"class {name}_:" in text and f"make = {name}_\n" in text


def test_flags_from_a_call() -> None:
    """A call that returns flags is not repeated."""
    source = f"{CONTEXT}ctx.run(i, o, 1, flags_of(n))\n"
    assert body(source).endswith(
        "    sequence_start=bool((flags := flags_of(n)) & FLAG_SEQUENCE_START),\n"
        "    sequence_end=bool(flags & FLAG_SEQUENCE_END),\n)\n"
    )


def test_class_behind_a_name() -> None:
    """A variable with the class format goes. The context stays if more than outputs have it."""
    source = f"{CONTEXT}kind = InferContext.ResultFormat.CLASS\nctx.run(i, {{'x': (kind, k)}})\n"
    assert body(source).endswith("infer(ctx, \"simple\", i, {'x': k})\n")
    assert "kind" not in body(source)
    assert "3:TS063" in todo(migrated(f"{STAR}{source}print(kind)\n"))


def test_asynchronous_requests() -> None:
    """Requests become futures of a pool, which has one thread for those of sequences."""
    source = (
        f"{CONTEXT}ctx.async_run(partial(done, 1), i, o)\nctx.async_run(lambda c, n: 0, i, o)\n"
    )
    assert body(source).partition("\n")[2] == (
        'future = pool.submit(infer, ctx, "simple", deepcopy(i), o)\n'
        "future.add_done_callback(in_turn(partial(done, 1), ctx))\n"
        'future = pool.submit(infer, ctx, "simple", deepcopy(i), o)\n'
        "future.add_done_callback(in_turn(lambda c, n: 0, ctx))\n"
    )
    sequence = (
        f"{CONTEXT}ctx.async_run(partial(f), i, o, 1, x)\nr = ctx.get_async_run_results(n, False)\n"
    )
    assert body(sequence).partition("\n")[2] == (
        'future = pool.submit(\n    infer,\n    ctx,\n    "simple",\n    deepcopy(i),\n    o,\n'
        "    sequence_start=bool(x & FLAG_SEQUENCE_START),\n"
        "    sequence_end=bool(x & FLAG_SEQUENCE_END),\n"
        ")\nfuture.add_done_callback(in_turn(partial(f), ctx))\n"
        "r = (n.result() if n.done() else None)\n"
    )
    assert "pool = ThreadPoolExecutor(1)  #" in migrated(STAR + sequence).after.decode()


@pytest.mark.parametrize(
    "use",
    [
        "x = ctx.async_run(callback=f, inputs=i, outputs=o)",
        "if x: ctx.async_run(f, i, o)",
        "ctx.async_run(lambda c, n: (  # why\n    0), i, o)",
    ],
)
def test_callbacks_that_need_one_expression(use: str) -> None:
    """Where a statement of its own has no place, the future gets its callback at once."""
    text = body(f"{CONTEXT}{use}\n")
    assert ").add_done_callback(in_turn(" in text and "future = " not in text


def test_lines_of_asynchronous_requests() -> None:
    """Requests are laid out anew: on one line, or on lines that are indented by four."""
    source = (
        "def send(future):\n    ctx.async_run(partial(done,\n"
        "                          future),\n"
        "                  {'a': [x],\n                   'b': [y]},\n"
        "                  {'c': InferContext.ResultFormat.RAW,\n"
        "                   'd': z})  # all\n"
    )
    assert body(CONTEXT + source).partition("\n")[2] == (
        'def send(future):\n    future_ = pool.submit(infer, ctx, "simple", '
        "deepcopy({'a': [x], 'b': [y]}), {'c': RAW, 'd': z})  # all\n"
        "    future_.add_done_callback(in_turn(partial(done, future), ctx))\n"
    )


@pytest.mark.parametrize(
    ("streaming", "unsafe", "threads"),
    [
        ("True", False, 1),
        ("True", True, 1),
        ("False", False, 256),
        ("flags.streaming", False, 1),
        ("flags.streaming", True, 256),
    ],
)
def test_streams(streaming: str, unsafe: bool, threads: int) -> None:
    """Requests of a stream go one after another. What may be a stream is one without --unsafe."""
    context = f"c = InferContext('u', 1, 'm', streaming={streaming})\n"
    migration = migrated(f"{STAR}{context}c.async_run(f, i, o)\n", unsafe=unsafe)
    assert f"pool = ThreadPoolExecutor({threads})  #" in migration.after.decode()
    rows = {row for _, outcome in migration.uses for row in outcome.rows}
    assert (UnsafeChange.STREAMS in rows) is (streaming == "flags.streaming" and unsafe)
    reports = [outcome.what for row, outcome in migration.uses if row.entry.id == "TS050"]
    assert reports == ["grpc client" + "; no stream is opened" * (streaming != "False")]


@pytest.mark.parametrize("use", ["print(n)", "logger.info(n)", "f'{n}'", "'%d' % n", "n < 3"])
def test_numbers_of_requests(use: str) -> None:
    """A program that prints or sorts the numbers of its requests keeps the context."""
    source = f"{CONTEXT}n = ctx.async_run(i, o)\nctx.get_async_run_results(n, True)\n{use}\n"
    assert "3:TS053" in todo(migrated(STAR + source))


_QUEUE = (
    "import queue\ndef finished(data, c, number):\n    data.put(number)\n"
    "data, ids = queue.Queue(), []\nctx.async_run(partial(finished, data), i, o)\n"
)
_KEPT = f"s = {{}}\nn = ctx.async_run(i, o)\ns[n] = ctx.get_async_run_results(n)\n{_QUEUE}"


@pytest.mark.parametrize(
    ("use", "stays"),
    [
        ("sorted(s)", True),
        ("sorted(s.items())", True),
        ("sorted((k, v) for k, v in s.items())", True),
        ("min(s)", True),
        ("all = list(s)\nall.sort()", True),
        ("n < m", True),
        ("ids.append(data.get())\nsorted(ids)", True),
        ("ids.append((data.get(), 1))\nids.sort()", True),
        ("ids = [data.get() for _ in x]\nsorted(ids)", True),
        ("def take():\n    return data.get(), 1\nsorted([take()])", True),
        ("q = queue.PriorityQueue()\nq.put(n)", True),
        ("sorted([(n, 1)], key=lambda pair: pair[0])", True),
        ("sorted([(n, 1)], key=lambda pair: pair[1])", False),
        ("sorted([(1, n)])", False),
        ("names = ['b', 'a']\nnames.sort()", False),
        ("rows = [1]\nrows.append(s[n]['OUT'][0].tolist())\nsorted(rows)", False),
        ("sorted(x)", False),
    ],
)
def test_sorted_requests(use: str, stays: bool) -> None:
    """A program that may sort its requests keeps their context: futures have no order."""
    left = todo(migrated(f"{STAR}{CONTEXT}{_KEPT}{use}\n"))
    assert bool(left) is stays


def test_sorted_results() -> None:
    """A program whose callbacks put away results alone may sort what it gets."""
    source = (
        "import queue\ndef finished(data, c, number):\n"
        "    data.put((c.get_async_run_results(number), 1))\n"
        "data, done = queue.Queue(), []\nctx.async_run(partial(finished, data), i, o)\n"
        "done.append(data.get())\nfor result, number in sorted(done):\n    print(result)\n"
    )
    assert todo(migrated(STAR + CONTEXT + source)) == []


def test_number_of_no_request() -> None:
    """A request by a literal number keeps the context: v1 raised an error."""
    source = f"{STAR}{CONTEXT}ctx.get_async_run_results(99999, True)\n"
    assert {"2:TS050", "3:TS055"} <= set(todo(migrated(source)))


@pytest.mark.parametrize(
    "choice",
    [
        "p = ProtocolType.GRPC if args.grpc else ProtocolType.HTTP",
        "p = {'http': ProtocolType.HTTP, 'grpc': ProtocolType.GRPC}[args.protocol]",
        "p = ProtocolType.HTTP\nif args.grpc:\n    p = ProtocolType.GRPC",
    ],
)
def test_choice_of_a_protocol(choice: str) -> None:
    """``--to`` replaces a protocol that a condition or a key chooses, not one of a loop."""
    source = f"{STAR}{choice}\nh = ServerHealthContext('u', p)\n"
    assert b"h = grpcclient.InferenceServerClient('u')\n" in migrated(source, "grpc").after
    loop = (
        f"{STAR}for p in ProtocolType.GRPC, ProtocolType.HTTP:\n    ServerHealthContext('u', p)\n"
    )
    assert b"connect(p, 'u')" in migrated(loop, "grpc").after


def test_iterators_of_python_2() -> None:
    """Names of ``future`` become methods of dict, below the imports."""
    source = f"from future.utils import iteritems, itervalues\n{STAR}{CONTEXT}iteritems(x)\n"
    migration = migrated(source)
    assert todo(migration) == []
    assert b"\n\niteritems = dict.items\nitervalues = dict.values\n" in migration.after
    assert b"future" not in migration.after
    kept = migrated(source.replace("iteritems", "text_type", 1))
    assert "1:TS203" in todo(kept)


def test_classes_of_another_file(tmp_path: Path) -> None:
    """A file whose outputs another file makes gets classes, if both are rewritten."""
    made = tmp_path / "made.py"
    made.write_text(f"{STAR}RAW = {{'x': (InferContext.ResultFormat.CLASS, 1)}}\n")
    script = tmp_path / "script.py"
    script.write_text(f"{STAR}from made import *\n{CONTEXT}ctx.run(i, RAW)\n")
    both = Program([str(made), str(script)])
    rewritten = migrate(str(script), script.read_bytes(), MigrateOptions(unsafe=True), both)
    assert rewritten.helpers == {"infer", "with_model"}
    for options in MigrateOptions(), MigrateOptions(unsafe=True):
        assert "4:TS051" in todo(migrate(str(script), script.read_bytes(), options))


def test_outputs_of_another_file(tmp_path: Path) -> None:
    """Outputs that another file makes keep v1's formats there, and the request stays, too."""
    made = tmp_path / "made.py"
    made.write_text(f"{STAR}RAW = {{'x': InferContext.ResultFormat.RAW}}\n")
    script = tmp_path / "script.py"
    script.write_text(f"{STAR}import made\n{CONTEXT}ctx.run(i, made.RAW)\n")
    assert "4:TS051" in todo(migrate(str(script), script.read_bytes(), MigrateOptions()))
    alone = migrate(str(script), script.read_bytes(), MigrateOptions(unsafe=True))
    assert "4:TS051" in todo(alone)
    both = Program([str(made), str(script)])
    rewritten = migrate(str(script), script.read_bytes(), MigrateOptions(unsafe=True), both)
    assert todo(rewritten) == []


def test_formats_that_another_file_needs(tmp_path: Path) -> None:
    """A format stays while a file that imports it has a context that stays."""
    (tmp_path / "main.py").write_text("from made import *\nInferContext(*a).run(i, RAW)\n")
    made = tmp_path / "made.py"
    made.write_text(f"{STAR}RAW = InferContext.ResultFormat.RAW\n")
    migration = migrate(str(made), made.read_bytes(), MigrateOptions("grpc", unsafe=True))
    assert not migration.changed


_USES = {
    "errors stay v1's if another file asks them for ids": (
        "print(error.request_id())",
        'InferContext("u", 1, "m").run(i, o)\n',
        'InferContext("u", 1, "m").run(i, o)',
    ),
    "formats of a derived class stay v1's with it": (
        "print(error.request_id())",
        "class C(InferContext):\n    outputs = {'x': InferContext.ResultFormat.RAW}\n",
        "outputs = {'x': InferContext.ResultFormat.RAW}",
    ),
    "a context that another file asks reports on its requests": (
        "print(made.ctx.get_last_request_model_name())",
        'ctx = InferContext("u", 1, "m")\n',
        'ctx = InferModel(grpcclient.InferenceServerClient("u"), "m")',
    ),
    "an asked context of *args becomes an object": (
        "made.c.get_stat()",
        "c = InferContext(*a)\n",
        "= infer_model(*a)",
    ),
    "a context that another file reads becomes an object": (
        "made.ctx.run(i, o)",
        'ctx = InferContext("u", 1, "m")\n',
        'ctx = InferModel(grpcclient.InferenceServerClient("u"), "m")',
    ),
    "a context that a function returns to another file becomes an object": (
        "made.make().run(i, o)",
        'def make():\n    return InferContext("u", 1, "m")\nmake()\n',
        'return InferModel(grpcclient.InferenceServerClient("u"), "m")',
    ),
}


@pytest.mark.parametrize("case", _USES)
def test_what_another_file_does(case: str, tmp_path: Path) -> None:
    """Files of a program that are rewritten in part still fit together."""
    use, source, expected = _USES[case]
    (tmp_path / "main.py").write_text(f"import made\n{use}\n")
    migration = migrate(
        str(tmp_path / "made.py"), f"{STAR}{source}".encode(), MigrateOptions("grpc", True)
    )
    assert expected in migration.after.decode()


@pytest.mark.parametrize("stays", [True, False])
def test_configurations_of_a_status_that_stays(stays: bool) -> None:
    """A file that names configurations keeps v1's if a status stays, whose are v1's."""
    read = "print(c.get_server_status().model_status['m'].infer_stats[1])\n" if stays else ""
    source = (
        "from tensorrtserver.api import ServerStatusContext\n"
        "from tensorrtserver.api import model_config_pb2 as configs\n"
        f"c = ServerStatusContext('u', 1)\n{read}print(configs.ModelInput)\n"
    )
    text = migrated(source).after.decode()
    assert ("from tensorrtserver.api import model_config_pb2 as configs" in text) is stays


@pytest.mark.parametrize(
    "source",
    [
        'InferContext((n := "u"), 1, "m").run(i, o)\n',
        'InferContext("u", 1, next(names)).run(i, o)\n',
        'InferContext("u", 1, "m").run(i, o, next(sizes))\n',
        'InferContext("u", 1, "m").run(i, o, count(rows))\n',
        'ServerHealthContext("u", protocols.pop()).is_live()\n',
    ],
)
def test_argument_with_effects(source: str) -> None:
    """A context or request stays if an argument that changes something would move or go."""
    migration = migrated(STAR + source, "grpc")
    assert "to a variable first" in migration.after.decode()
    assert migration.after.decode().endswith(source)


def test_name_of_a_model_that_is_fetched_once() -> None:
    """A call that returns the name of a model is not repeated where an error may be caught."""
    source = (
        'try:\n    ctx = InferContext("u", 1, pick())\nexcept OSError:\n    pass\nctx.run(i, o)\n'
    )
    assert body(source).count("pick()") == 1


@pytest.mark.parametrize(
    "line",
    [
        "from http import client as grpcclient",
        "def grpcclient(): ...",
        "class partial: ...",
        "np = 3",
        "lambda grpcclient: 0",
        "def cached_config(): ...",
        "infer = 1",
    ],
)
def test_names_of_the_file_stay(line: str, triton: TritonServer, tmp_path: Path) -> None:
    """What migrate writes gets another name where the file has the name."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nimport numpy\nfrom tensorrtserver.api import InferContext\n{line}\n"
        "row = numpy.arange(16, dtype=numpy.int32)\n"
        "def ask(name):\n"
        "    ctx = InferContext(sys.argv[1], 1, name or 'simple')\n"
        "    raw = InferContext.ResultFormat.RAW\n"
        "    return ctx.run({'INPUT0': [row], 'INPUT1': [row]}, {'OUTPUT0': raw})\n"
        "print(ask(''))\n"
    )
    before = run(script, triton.grpc)
    assert before.status == 0, before.output
    script.write_bytes(migrate("script.py", script.read_bytes(), MigrateOptions()).after)
    assert "tensorrtserver" not in script.read_text("utf-8")
    assert run(script, triton.grpc) == before


def test_text_in_a_batch() -> None:
    """tritonclient gets text of NumPy as objects, in its own lines, too."""
    helpers: dict[str, Any] = {}
    exec(helpers_text("stacked"), helpers)
    assert helpers["stacked"]([np.array(["a"]), np.array(["b"])]).dtype == object
    assert helpers["stacked"]([np.zeros(2, np.float32)]).dtype == np.float32


@pytest.mark.parametrize(
    ("test", "new"),
    [
        ("if p is ProtocolType.HTTP: 0", 'if p == "http": 0'),
        ("x = ProtocolType.GRPC is not p", 'x = "grpc" != p'),
        ("if p is None: 0", "if p is None: 0"),
        ("x = (p if y else q) is (ProtocolType.HTTP)", 'x = (p if y else q) == "http"'),
    ],
)
def test_protocol_that_is_compared_by_identity(test: str, new: str) -> None:
    """Two protocols are compared by value. As texts they may be two objects."""
    source = f"p = ProtocolType.HTTP\nq = ProtocolType.from_str(text)\n{test}\n"
    assert body(source).endswith(f"q = protocol_name(text)\n{new}\n")


@pytest.mark.parametrize(
    "test",
    [
        *("def f(q): return p, q is ProtocolType.HTTP", "x = p is q", "x = p is 0"),
        *("x = p and 1", "while not p: 0", "if p: 0", "x = p is ProtocolType.HTTP is not q"),
        "x = (p if z else None) is ProtocolType.HTTP",
    ],
)
def test_protocol_that_is_an_object_or_true(test: str) -> None:
    """A protocol stays v1's if the program asks if it is true, or which object it is.

    A number is no protocol, and is not v1's object.
    """
    source = f'p = ProtocolType.HTTP\nServerHealthContext("u", p).is_live()\n{test}\n'
    text = migrated(STAR + source).after.decode()
    assert "p = ProtocolType.HTTP\n" in text and text.endswith(f"{test}\n")
    assert "compare the protocol with `==`" in text


@pytest.mark.parametrize("test", ["if raw: 0", "y = x is raw", "y = raw or 3"])
def test_format_that_is_an_object_or_true(test: str) -> None:
    """A format stays v1's if the program asks if it is true, or which object it is."""
    source = f'raw = InferContext.ResultFormat.RAW\n{CONTEXT}ctx.run(i, {{"x": raw}})\n{test}\n'
    text = migrated(STAR + source).after.decode()
    assert "raw = InferContext.ResultFormat.RAW\n" in text


def test_name_that_is_no_protocol() -> None:
    """Other names than those of the protocols are refused, as they were, and no client is made."""
    helpers: dict[str, Any] = {}
    exec(helpers_text("protocol_name", "connect"), helpers)
    assert helpers["protocol_name"]("gRPC") == "grpc"
    with pytest.raises(Exception, match="unexpected protocol: htttp, expecting HTTP or gRPC"):
        helpers["protocol_name"]("htttp")
    with pytest.raises(ValueError, match="unexpected protocol"):
        helpers["connect"]("htttp", "127.0.0.1:9")


def test_address_with_a_scheme(triton: TritonServer, tmp_path: Path) -> None:
    """Over HTTP a url from outside may have a scheme. No client gives up after a minute."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\n{STAR}print(ServerHealthContext(sys.argv[1], 0).is_ready())\n", "utf-8"
    )
    script.write_bytes(migrate("script.py", script.read_bytes(), MigrateOptions()).after)
    assert "tensorrtserver" not in script.read_text("utf-8")
    assert run(script, f"http://{triton.http}").output == "True\n"
    assert run(script, triton.http).output == "True\n"
    assert "network_timeout" in script.read_text("utf-8")


def test_futures_stay_in_their_process() -> None:
    """Asynchronous requests stay in a file whose objects may go to other processes."""
    source = f"import multiprocessing\n{STAR}{CONTEXT}queue.put(ctx.async_run(i, o))\n"
    text = migrated(source).after.decode()
    assert "fetch results in the process that sends the request" in text
    assert text.endswith("queue.put(ctx.async_run(i, o))\n")


def test_rows_of_several_shapes() -> None:
    """Rows that make no batch are an error of tritonclient's class, which handlers catch."""
    helpers: dict[str, Any] = {}
    exec(helpers_text("stacked"), helpers)
    with pytest.raises(helpers["InferenceServerException"], match="inputs do not fit: all input"):
        helpers["stacked"]([np.zeros(2), np.zeros(3)])


def test_clients_of_a_program_with_threads(tmp_path: Path) -> None:
    """Over HTTP all clients have a connection for each thread if other files may have threads."""
    script = tmp_path / "ask.py"
    script.write_text(f'{STAR}h = ServerHealthContext("u", 0)\ndef ask(): return h.is_live()\n')
    (tmp_path / "app.py").write_text("import flask, ask\n")
    text = migrate(str(script), script.read_bytes(), MigrateOptions()).after.decode()
    assert 'h = http_client("u")\n' in text and "return ThreadClient(" in text
    alone = migrated(f'import flask\n{STAR}h = ServerHealthContext("u", 0)\nh.is_live()\n')
    assert 'h = http_client("u")\n' in alone.after.decode()
    assert b"return ThreadClient(" in alone.after


def test_raw_stub_of_a_program(tmp_path: Path) -> None:
    """v1's raw stub stays if other files of the program may get its messages."""
    source = (
        "from tensorrtserver.api import grpc_service_pb2 as pb, grpc_service_pb2_grpc as g\n"
        "def ask(channel):\n    return g.GRPCServiceStub(channel).Infer(pb.InferRequest())\n"
    )
    script = tmp_path / "ask.py"
    script.write_text(source)
    (tmp_path / "main.py").write_text("import ask\nask.ask(c).SerializeToString()\n")
    after = migrate(str(script), source.encode(), MigrateOptions(unsafe=True)).after.decode()
    assert "keep v1's messages in one file" in after and "Record" not in after


def test_reason_for_a_context_in_text() -> None:
    """An f-string with a context has a reason of its own."""
    source = "c = ServerHealthContext('u', 1)\nprint(f'{c}')\n"
    reasons = [outcome.what for _, outcome in migrated(STAR + source).uses]
    assert any("print a name of your own in place of the context" in x for x in reasons)


def test_reason_for_hidden_inputs() -> None:
    """Inputs in a variable may be in shared memory; the reason does not say that they are."""
    region = "h = tensorrtserver.shared_memory.create_shared_memory_region('a', '/a', 4)\n"
    source = f"import tensorrtserver.shared_memory\n{STAR}{CONTEXT}{region}ctx.async_run(f, i, o)\n"
    reasons = [outcome.what for _, outcome in migrated(source).uses]
    assert "write inputs and outputs in the call: they may be in shared memory" in reasons


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("class C(InferContext):\n    pass\n", reason_of([UnsafeChange.OBJECT])),
        ("def f(ctx: InferContext):\n    ctx.run(i, o)\n", reason_of([UnsafeChange.OBJECT])),
        (
            "class A:\n    def f(self):\n        self.c = InferContext('u', 1, 'm')\n"
            "        self.run = partial(self.c.run, outputs=o)\n",
            "write `lambda: self.c.run(…)` with its arguments in place of `self.c.run`; "
            "--unsafe rewrites it (row 9)",
        ),
        (
            f"{CONTEXT}pool.submit(ctx.async_run, f, i, o)\n",
            "write `lambda: ctx.async_run(…)` with its arguments in place of `ctx.async_run`",
        ),
        (
            "InferContext('u', ProtocolType[name], 'm').run(i, o)\n",
            "write the protocol as ProtocolType.GRPC or ProtocolType.HTTP",
        ),
    ],
)
def test_reasons_that_an_owner_understands(source: str, reason: str) -> None:
    """The reason says what is there, also where only another file could tell more."""
    reasons = [x.what for _, x in migrated(STAR + source, unsafe=False).uses if x.todo]
    assert reason in reasons
    assert not any("in the file that uses it" in other for other in reasons)


def test_one_function_for_requests() -> None:
    """Requests call ``infer``. It checks the arrays unless ``--unsafe`` is given."""
    source = f"{STAR}{CONTEXT}r = ctx.run(i, {{'OUTPUT0': InferContext.ResultFormat.RAW}})\n"
    safe, unsafe = (migrated(source, unsafe=option).after.decode() for option in (False, True))
    assert 'r = infer(ctx, "simple", i, ' in safe and 'r = infer(ctx, "simple", i, ' in unsafe
    assert "must be a list of numpy arrays" in safe and "must be a list" not in unsafe


def test_unsafe_after_safe() -> None:
    """A file that has the functions of an earlier migration gets no others beside them."""
    request = "r = ctx.run(i, {'OUTPUT0': InferContext.ResultFormat.RAW})\n"
    once = migrated(STAR + CONTEXT + request, unsafe=False).after.decode()
    more = (CONTEXT + request).replace("ctx", "other")
    twice = migrated(STAR + once + more).after.decode()
    assert 'r = infer(other, "simple", i, ' in twice
    assert twice.count("def infer") == twice.count("def array_of") == 1


def test_names_of_functions_are_no_keywords() -> None:
    """No field or parameter has a name of the module, with which it would be renamed."""
    trees = [ast.parse(path.read_text("utf-8")) for path in Path(helpers.__path__[0]).glob("*.py")]
    names = {name for tree in trees for name in Scopes(tree).module.bindings}
    assert {"get_server_status", "types"} <= names
    nodes = [node for tree in trees for node in ast.walk(tree)]
    keywords = {node.arg for node in nodes if isinstance(node, (ast.keyword, ast.arg))}
    assert names & keywords == set()


def test_helpers_that_a_file_can_reach() -> None:
    """A file gets no helpers for classes, headers or a protocol that it does not use."""
    request = f"{CONTEXT}r = ctx.run(i, {{'OUTPUT0': InferContext.ResultFormat.RAW}})\n"
    text = migrated(STAR + request, unsafe=False).after.decode()
    assert "def infer(" in text and "must be a list of numpy arrays" in text
    for unreachable in ("class_of", "http", "header", "module_of"):
        assert unreachable not in text
    over_both = migrated(STAR + request.replace("GRPC", "from_str(text)"), unsafe=False)
    assert " else grpcclient\n" in over_both.after.decode()
    over_http = migrated(STAR + request.replace("GRPC", "HTTP")).after.decode()
    assert "httpclient.InferInput(" in over_http
    assert "tritonclient.grpc as" not in over_http and "module_of" not in over_http


@pytest.mark.parametrize("headers", ["None", "['a: 1']"])
def test_clients_of_one_thread(headers: str) -> None:
    """A client of a file without threads has one connection, also where it sends headers."""
    health = f'h = ServerHealthContext("u", ProtocolType.from_str(text), http_headers={headers})\n'
    alone = migrated(STAR + health).after.decode()
    assert "ThreadClient" not in alone
    has_headers = "connect(protocol_name(text), \"u\", headers=['a: 1'])" in alone
    assert has_headers is (headers != "None") is ("with_headers" in alone)
    in_threads = migrated(f"import threading\n{STAR}{health}").after.decode()
    assert "class ThreadClient(" in in_threads


@pytest.mark.parametrize(
    ("arguments", "is_plain"),
    [
        ("i, o", True),
        ("i, o, 2", True),
        ("i, o, batch_size=2", True),
        ("i, o, 1, FLAGS", False),
        ("i, o, corr_id=3", False),
        ("i, o, timeout_us=3", False),
        ("i, o, *more", False),
        ("i, o, **more", False),
    ],
)
def test_models_with_plain_requests(arguments: str, is_plain: bool) -> None:
    """An InferModel has code for sequences only in a file whose requests may have options."""
    send = f"def send(ctx, more):\n    return ctx.run({arguments})\n"
    text = migrated(f"{STAR}class Own(InferContext): pass\n{send}", "grpc").after.decode()
    assert "class InferModel" in text
    assert ("corr_id=0" in text) is not is_plain


@pytest.mark.parametrize(
    "formats",
    [
        "(InferContext.ResultFormat.CLASS, 2)",
        "getattr(InferContext.ResultFormat, text)",
        "InferContext.ResultFormat[text]",
    ],
)
def test_helpers_for_classes(formats: str) -> None:
    """A file that may ask for classes gets the helper that returns these."""
    request = f"{CONTEXT}r = ctx.run(i, {{'OUTPUT0': InferContext.ResultFormat.RAW}})\n"
    assert "def class_of(" in migrated(f"{STAR}{request}formats = {formats}\n").after.decode()


def test_helpers_of_linked_files(tmp_path: Path) -> None:
    """A file has helpers for the protocols and formats of the other files of its program."""
    request = f"{CONTEXT}r = ctx.run(i, {{'OUTPUT0': InferContext.ResultFormat.RAW}})\n"
    other = tmp_path / "other.py"
    script = tmp_path / "script.py"
    script.write_text(f"{STAR}import other\n{request}", "utf-8")

    def helpers_beside(text: str) -> str:
        other.write_text(f"{STAR}{text}", "utf-8")
        program = Program([str(script), str(other)], is_whole=True)
        options = MigrateOptions("", unsafe=True)
        return migrate(str(script), script.read_bytes(), options, program).after.decode()

    over_grpc = helpers_beside(f"def status():\n    return {CONTEXT}")
    assert "def infer(" in over_grpc and "class_of" not in over_grpc
    assert "import tritonclient.http" not in over_grpc
    http_context = CONTEXT.replace("GRPC", "HTTP")
    assert "def module_of(" in helpers_beside(http_context)
    assert "def module_of(" in helpers_beside(CONTEXT.replace("GRPC", "from_str(text)"))
    assert "def class_of(" in helpers_beside("form = InferContext.ResultFormat.CLASS\n")


def test_modules_that_an_importer_imports_itself(tmp_path: Path) -> None:
    """A file does not import a module for an importer that imports it itself."""
    library = tmp_path / "library.py"
    library.write_text(f"{STAR}def connect():\n    return {CONTEXT[6:]}", "utf-8")
    script = tmp_path / "script.py"
    script.write_text("import sys\nfrom library import connect\nprint(sys.argv)\n", "utf-8")
    options = MigrateOptions("", unsafe=True)

    def library_after() -> str:
        program = Program([str(script), str(library)], is_whole=True)
        return migrate(str(library), library.read_bytes(), options, program).after.decode()

    assert "import sys" not in library_after()
    script.write_text("from library import connect, sys\nprint(sys.argv)\n", "utf-8")
    assert "import sys" in library_after()


@pytest.mark.parametrize(
    ("importer", "is_imported"),
    [
        ("from tritonclient.utils import InferenceServerException as {}", False),
        ("if sys.argv:\n    from tritonclient.utils import InferenceServerException as {}", True),
        ("print({})\nfrom tritonclient.utils import InferenceServerException as {}", True),
        ("from library import {}", True),
        ("{} = library.{}", True),
        ("", True),
    ],
)
def test_names_that_an_importer_imports_from_elsewhere(
    tmp_path: Path, importer: str, is_imported: bool
) -> None:
    """A file does not import a name for an importer that imports it from tritonclient."""
    error = "InferenceServerException"
    library = tmp_path / "library.py"
    source = f"{STAR}def ready(url):\n    return ServerHealthContext(url, 1).is_ready()\n"
    library.write_text(source, "utf-8")
    script = tmp_path / "script.py"
    lines = ["import sys", "import library", "from library import *", importer, f"print({error})"]
    script.write_text("\n".join(lines).replace("{}", error), "utf-8")
    program = Program([str(script), str(library)], is_whole=True)
    after = migrate(str(library), library.read_bytes(), MigrateOptions(unsafe=True), program).after
    imports = [line for line in after.decode().splitlines() if "import " in line]
    assert any(error in line for line in imports) == is_imported


def _reasons(source: str, unsafe: bool = True) -> dict[str, str]:
    """Return the reason for each use that stays, by ``line:id``."""
    uses = migrated(STAR + source, unsafe=unsafe).uses
    return {f"{row.line}:{row.entry.id}": outcome.what for row, outcome in uses if outcome.todo}


def test_reasons_name_the_line_of_the_cause() -> None:
    """A use that stays for another one names its line."""
    source = "p = ProtocolType.GRPC\nq = p is ProtocolType.HTTP is not r\n"
    reasons = _reasons(source)
    assert reasons["3:TS010"] == "compare the protocol with `==`, not with `is`: it becomes a text"
    assert reasons["2:TS010"] == f"stays because of line 3: {reasons['3:TS010']}"
    assert reasons["1:TS001"] == "stays because of line 2"
    error = f"try:\n    {CONTEXT}except InferenceServerException as e:\n    print(e.server_id())\n"
    assert _reasons(error, unsafe=False)["4:TS015"] == (
        "stays because of line 5: only v1's errors have ids"
    )
    kept = f"{CONTEXT}ctx.unknown_method()\np = ProtocolType.HTTP\n"
    assert _reasons(kept)["4:TS010"] == (
        "stays because of line 3: no client has a method unknown_method"
    )


def test_command_of_a_comment_is_on_one_line() -> None:
    """An author can copy the command from a comment, which breaks no words."""
    source = "def ask(*arguments):\n    context = InferContext('u', 1, 'm')\n"
    source += "    context.run(*arguments)\n"
    text = migrated(STAR + source).after.decode()
    assert "(tritonclient-shim guide inference)" in text
