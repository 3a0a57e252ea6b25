"""Migrated programs print on a real server what they printed before."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo, write
from tritonclient_shim.cli._models import models_of
from tritonclient_shim.rewrite.files import Migrated, migrate
from tritonclient_shim.rewrite.options import MigrateOptions

CONTEXTS = """import sys
from functools import lru_cache
from typing import Dict
from tensorrtserver.api import *


@lru_cache(maxsize=None)
def context_for(url: str, protocol: ProtocolType, model: str) -> InferContext:
    return InferContext(url, protocol, model)


class Models:
    def __init__(self, url: str, protocol: ProtocolType) -> None:
        self.every: Dict[str, InferContext] = {}
        self.url, self.protocol = url, protocol

    def __getitem__(self, name: str) -> InferContext:
        if name not in self.every:
            self.every[name] = context_for(self.url, self.protocol, name)
            setattr(self, "of_" + name, self.every[name])
        return self.every[name]

    @property
    def first(self) -> InferContext:
        return self["simple"]


models = Models(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
row = np.arange(16, dtype=np.int32)
RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
print(models.first.run({"INPUT0": [row], "INPUT1": [row]}, RAW))
print(models["multi_version"].run({"INPUT0": [np.zeros(1, np.float32)]}, RAW))
print(len(models.every), models.first is models["simple"], hasattr(models, "of_simple"))
try:
    models["no such model"]
except InferenceServerException:
    print("no such model")
"""
LAST_REQUESTS = """import sys
from tensorrtserver.api import *

protocol = ProtocolType.from_str(sys.argv[2])
ctx = InferContext(sys.argv[1], protocol, "simple", correlation_id=12)
other = InferContext(sys.argv[1], protocol, "multi_version", 2)
print(ctx.get_last_request_model_name(), ctx.get_last_request_model_version())
row = np.arange(16, dtype=np.int32)
for _ in range(3):
    ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
other.run({"INPUT0": [np.zeros(1, np.float32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
print(ctx.get_last_request_model_name(), other.get_last_request_model_version())
stat = ctx.get_stat()
print(stat["completed_request_count"], stat["cumulative_total_request_time_ns"] > 0)
first = ctx.get_last_request_id()
print(first > 0, other.get_last_request_id() > 0, ctx.correlation_id(), other.correlation_id())
try:
    ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"nothing": InferContext.ResultFormat.RAW})
except InferenceServerException:
    print(ctx.get_last_request_model_name(), ctx.get_stat()["completed_request_count"])
"""
SORTED = """import queue
import sys
from functools import partial
import numpy as np
from tensorrtserver.api import *


def finished(done, ctx, request_id):
    done.put(request_id)


def received(done, ctx):
    request_id = done.get()
    return request_id, ctx.get_async_run_results(request_id)["OUTPUT0"][0].tolist()


ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int32")
done, later, answers = queue.Queue(), queue.Queue(), {}
for n in range(8):
    inputs = {"INPUT0": [np.array([n], np.int32)]}
    ctx.async_run(partial(finished, done), inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})
    ctx.async_run(partial(finished, later), inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})
for _ in range(8):
    request_id = done.get()
    answers[request_id] = ctx.get_async_run_results(request_id)["OUTPUT0"][0].tolist()
print([answers[request_id] for request_id in sorted(answers)])
print([values for _, values in sorted([received(later, ctx) for _ in range(8)])])
"""
ALL_MODELS = """import sys
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

protocol = ProtocolType.from_str(sys.argv[2])


def models(name=None):
    status = ServerStatusContext(sys.argv[1], protocol, name).get_server_status()
    return "simple" in status.model_status, len(status.model_status) > 1


print(models("simple"), models())
try:
    shm.create_shared_memory_region("bad", "/a/bad/key", 64)
except shm.SharedMemoryException as error:
    print("no such key")
"""
STATUSES = f"""import sys
{STAR}
protocol = ProtocolType.from_str(sys.argv[2])


def size(name):
    status = ServerStatusContext(sys.argv[1], protocol, name).get_server_status()
    if name not in status.model_status:
        return "unknown"
    return status.model_status[name].config.max_batch_size


for model in ("simple", "no such model"):
    try:
        print(size(model))
    except InferenceServerException:
        print("caught")
control = ModelControlContext(sys.argv[1], protocol)
spare = ServerStatusContext(sys.argv[1], protocol, "spare")
control.load("spare")
status = spare.get_server_status()
print(status.model_status["spare"].version_status[1], list(status.model_status))
control.unload("spare")
while status.model_status["spare"].version_status[1].ready_state != 2:
    status = spare.get_server_status()
print(status.model_status["spare"], [status.model_status["spare"]])
print(status.ready_state, str(status)[-50:])
print(status.model_status["none"], status.model_status["none"].version_status[3].ready_state)
"""
IN_THREADS = (
    f"{STAR}"
    + """import sys
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
)
LITERAL = f"""import sys
import numpy as np
{STAR}
ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "simple")
row = np.arange(16, dtype=np.int32)
sums = ctx.run({{"INPUT0": [row], "INPUT1": (row + 1,)}}, {{
    "OUTPUT0": InferContext.ResultFormat.RAW,
    "OUTPUT1": InferContext.ResultFormat.RAW,
}})
print(sums)
total = ctx.run({{"INPUT0": [row], "INPUT1": [row]}}, {{"OUTPUT0": InferContext.ResultFormat.RAW}})
print(total["OUTPUT0"][0], len(total["OUTPUT0"]))
numbers = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int32")
same = numbers.run({{"INPUT0": [row]}}, {{"OUTPUT0": InferContext.ResultFormat.RAW}})
print([list(entry) for entry in same["OUTPUT0"]])
rows = [row, row + 1]
for batch in (rows, rows * 2):
    size = len(batch)
    same = numbers.run({{"INPUT0": batch}}, {{"OUTPUT0": InferContext.ResultFormat.RAW}}, size)
    print(np.array(same["OUTPUT0"]).sum(), numbers.run({{"INPUT0": [row] * 3}}, {{
        "OUTPUT0": InferContext.ResultFormat.RAW}}, 3)["OUTPUT0"][2])


def classes(url, name="x"):
    model = "classify"
    ctx = InferContext(url, ProtocolType.from_str(sys.argv[2]), model)
    row = np.arange(10, dtype=np.float32)
    return ctx.run({{"INPUT": [row, row[::-1]]}}, {{
        "OUTPUT": (InferContext.ResultFormat.CLASS, 2)}}, batch_size=2)


print(classes(sys.argv[1]))
"""
FUTURES = """import queue
import sys
from functools import partial
import numpy as np
from tensorrtserver.api import *

OUTPUT = "OUTPUT0"
done = queue.Queue()


def finished(number, ctx, request_id):
    done.put((number, request_id))


ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_string")
text = np.array([b"a", b"bc"], dtype=object)
ctx.async_run(partial(finished, 1), {"INPUT0": [text]}, {OUTPUT: InferContext.ResultFormat.RAW}, 1)
number, request_id = done.get()
got = ctx.get_async_run_results(request_id)
print(number, got[OUTPUT][0].tolist())
"""
STUB = """import sys
import grpc
from tensorrtserver.api import *
from tensorrtserver.api import grpc_service_pb2 as pb, grpc_service_pb2_grpc, api_pb2
from tensorrtserver.api import request_status_pb2, server_status_pb2

stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(sys.argv[1]))
request = pb.InferRequest(model_name="simple", model_version=-1)
request.meta_data.batch_size = 1
for name in ("INPUT0", "INPUT1"):
    request.meta_data.input.add(name=name, dims=[16])
output = InferRequestHeader.Output()
output.name = "OUTPUT0"
request.meta_data.output.extend([output])
request.raw_input.extend([np.arange(16, dtype=np.int32).tobytes()] * 2)
futures = [stub.Infer.future(request) for _ in range(2)]
for future in futures:
    response = future.result()
    print(response.meta_data.output[0].raw.dims, response.meta_data.batch_size)
    print(response.request_status.code, np.frombuffer(response.raw_output[0], np.int32))
again = pb.InferRequest()
again.CopyFrom(request)
print(np.frombuffer(stub.Infer(again).raw_output[0], np.int32))
request.meta_data.input[0].name = "nothing"
code = stub.Infer(request).request_status.code
print(code == request_status_pb2.RequestStatusCode.Value("INVALID_ARG"))
request.model_name = "nothing"
response = stub.Infer(request, 10)
print(response.request_status.code == request_status_pb2.UNAVAILABLE, len(response.raw_output))
response = stub.Status(pb.StatusRequest(model_name="nothing"))
print(response.request_status.code, "nothing" in response.server_status.model_status)
status = stub.Status(pb.StatusRequest()).server_status
print(status.ready_state == server_status_pb2.SERVER_READY, "simple" in status.model_status)


def requests():
    request = pb.InferRequest(model_name="sequence_sum", model_version=-1)
    request.meta_data.input.add(name="INPUT")
    request.meta_data.output.add(name="OUTPUT")
    request.meta_data.correlation_id = 7711
    for number, flags in enumerate((api_pb2.InferRequestHeader.FLAG_SEQUENCE_START, 0, 2)):
        request.meta_data.flags, request.meta_data.batch_size = flags, 1
        del request.raw_input[:]
        request.raw_input.append(np.array([number + 2], np.int32).tobytes())
        yield request


for response in stub.StreamInfer(requests()):
    print(response.request_status.code, np.frombuffer(response.raw_output[0], np.int32))
try:
    grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel("127.0.0.1:9")).Infer(request)
except grpc.RpcError as error:
    print(error.code())
"""
SEQUENCE = """import sys
import threading
from functools import partial
import numpy as np
from tensorrtserver.api import *

URL, PROTOCOL = sys.argv[1], ProtocolType.from_str(sys.argv[2])
SEQUENCE = 7351
done = threading.Semaphore(0)
finished = []

def on_done(number, infer_ctx, request_id):
    finished.append((number, request_id))
    done.release()

ctx = InferContext(URL, PROTOCOL, 'sequence_sum', -1, correlation_id=SEQUENCE)
values = [5, 4, 3, 2, 1, 7]
for n, value in enumerate(values):
    flags = InferRequestHeader.FLAG_NONE
    if n == 0:
        flags |= InferRequestHeader.FLAG_SEQUENCE_START
    if n == len(values) - 1:
        flags |= InferRequestHeader.FLAG_SEQUENCE_END
    ctx.async_run(partial(on_done, n), {'INPUT': [np.array([value], dtype=np.int32)]},
                  {'OUTPUT': InferContext.ResultFormat.RAW}, batch_size=1, flags=flags)
for _ in values:
    done.acquire()
print(sum(values))
for n, request_id in sorted(finished):
    print(n, ctx.get_async_run_results(request_id)['OUTPUT'][0][0])
"""


BATCHES = """import sys
from tensorrtserver.api import *


class Model:
    def __init__(self, url, protocol, name):
        self.ctx = InferContext(url, protocol, name)

    def add(self, left, right):
        result = self.ctx.run({"INPUT0": left, "INPUT1": right}, {
            "OUTPUT0": InferContext.ResultFormat.RAW, "OUTPUT1": InferContext.ResultFormat.RAW
        }, batch_size=len(left))
        return np.array(result["OUTPUT0"]), result["OUTPUT1"][0]


class Labels:
    def __init__(self, url, protocol, name):
        self.ctx, self.output = InferContext(url, protocol, name), "OUTPUT"

    def best(self, batch):
        size = len(batch)
        return self.ctx.run({"INPUT": batch}, {
            self.output: (InferContext.ResultFormat.CLASS, 2)
        }, size)[self.output]


protocol = ProtocolType.from_str(sys.argv[2])
rows = [np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)]
print(Model(sys.argv[1], protocol, "simple").add(rows, rows[::-1]))
labels = Labels(sys.argv[1], protocol, "classify")
print(labels.best([np.arange(10, dtype=np.float32)] * 2))
"""


@pytest.mark.parametrize("to", ["grpc", "http", ""])
@pytest.mark.parametrize(
    "program",
    [CONTEXTS, LAST_REQUESTS, SORTED, ALL_MODELS, STATUSES, IN_THREADS],
    ids=["contexts", "last requests", "sorted", "all models", "statuses", "threads in turn"],
)
def test_same_on_a_server(program: str, to: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program prints before and after migration equal output."""
    script = tmp_path / "script.py"
    url, protocol = (triton.grpc, "grpc") if to == "grpc" else (triton.http, "http")
    script.write_text(program)
    before = run(script, url, protocol)
    migration = migrated(program, to)
    assert todo(migration) == []
    write(migration, script)
    assert run(script, url, protocol) == before
    assert before.status == 0, before.output


def test_requests_of_a_sequence_keep_their_order(triton: TritonServer, tmp_path: Path) -> None:
    """Requests with a sequence id reach the server in the order of their calls."""
    script = tmp_path / "script.py"
    write(migrated(SEQUENCE), script)
    ended = run(script, triton.http, "http")
    assert ended.status == 0, ended.output
    assert ended.output == "22\n0 5\n1 9\n2 12\n3 14\n4 15\n5 22\n"


def same_with_server(program: str, to: str, triton: TritonServer, folder: Path) -> Migrated:
    """Migrate a program with the models of a server. It prints before and after equal output."""
    script, url = folder / "script.py", triton.url(to)
    script.write_text(program)
    before = run(script, url, to)
    assert before.status == 0, before.output
    options = MigrateOptions(to, unsafe=True, models=models_of(url))
    migration = migrate("script.py", program.encode(), options)
    assert todo(migration) == []
    write(migration, script)
    assert run(script, url, to) == before
    return migration


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_lines_of_tritonclient(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """With the models of a server, a request with literal names becomes tritonclient's lines."""
    migration = same_with_server(LITERAL, to, triton, tmp_path)
    assert migration.helpers == {"class_of"}
    text = migration.after.decode()
    assert f'inputs = [{to}client.InferInput("INPUT0", array.shape, "INT32")]\n' in text
    assert f'inputs.append({to}client.InferInput("INPUT1", array.shape, "INT32"))\n' in text
    assert "array = np.reshape(row, [1, 16])\n" in text
    assert "array = np.reshape([row, row[::-1]], [2, 10])\n" in text
    assert "array = np.stack([row] * 3)\n" in text  # for shapes of any length
    assert f'[{to}client.InferRequestedOutput("OUTPUT", class_count=2)])\n' in text
    assert "answer = ctx.infer(model, inputs, outputs=[" in text
    assert 'print(total.as_numpy("OUTPUT0")[0], len(total.as_numpy("OUTPUT0")))\n' in text
    models = models_of(triton.url(to))
    safe = migrate("script.py", LITERAL.encode(), MigrateOptions(to, models=models))
    assert "InferInput" not in safe.after.decode()
    run = 'run({"INPUT0": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})'
    code = f'{STAR}try:\n    InferContext("u", 1, "simple_nobatch").{run}\nexcept OSError: 0'
    options = MigrateOptions(to, unsafe=True, models=models)
    tried = migrate("script.py", code.encode(), options)
    assert "array = np.asarray(row)\n" in tried.after.decode()  # NumPy's errors are not caught
    # a file that needs the function calls it for all requests
    other = f"{code.replace('OSError: 0', 'OSError:')}\n    InferContext('u', 1, name).run(i, o)\n"
    called = migrate("script.py", other.encode(), options)
    assert called.helpers == {"infer"} and "InferInput" not in called.after.decode()


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_batches_of_an_unknown_model(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """A request with a batch of any length becomes tritonclient's lines, for all models."""
    script = tmp_path / "script.py"
    script.write_text(BATCHES)
    before = run(script, triton.url(to), to)
    migration = migrated(BATCHES, to)
    assert migration.helpers == {"class_of"} and todo(migration) == []
    write(migration, script)
    assert run(script, triton.url(to), to) == before
    assert before.status == 0, before.output
    text = migration.after.decode()
    client = f"{to}client.InferenceServerClient(url)"
    assert f"self.ctx = partial({client}.infer, name)\n" in text
    assert "inputs[0].set_data_from_numpy(array)\n        array = np.stack(right)\n" in text
    assert migrated(BATCHES.replace("len(left)", "2"), to).helpers == {"class_of"}
    # models without batches take one entry, and text has a helper
    one = BATCHES.replace("len(left)", "left")
    for other in (one, BATCHES.replace("np.float32", "np.bytes_")):
        assert "infer" in migrated(other, to).helpers


NAMED = f"""import argparse
import sys
{STAR}
parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("protocol")
parser.add_argument("-m", "--model", default="simple")
options = parser.parse_args()
ctx = InferContext(options.url, ProtocolType.from_str(options.protocol), options.model)
row = np.arange(16, dtype=np.int32)
sums = ctx.run({{"INPUT0": [row], "INPUT1": (row,)}}, {{
    "OUTPUT0": InferContext.ResultFormat.RAW}}, 1)
print(sums["OUTPUT0"][0])
"""


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_models_that_a_file_names(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """A request becomes tritonclient's lines if all models that its file names take batches."""
    migration = same_with_server(NAMED, to, triton, tmp_path)
    assert not migration.helpers
    assert "sums = ctx.infer(options.model, inputs, outputs=[" in migration.after.decode()
    models = models_of(triton.url(to))
    other = f"{NAMED}OTHER = 'simple_nobatch'\n".encode()
    options = MigrateOptions(to, unsafe=True, models=models)
    assert migrate("script.py", other, options).helpers == {"infer"}
    assert migrated(NAMED, to).helpers == {"infer"}


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_futures_of_tritonclient(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """With the models of a server, asynchronous requests become futures of tritonclient."""
    migration = same_with_server(FUTURES, to, triton, tmp_path)
    assert "infer" not in migration.helpers
    text = migration.after.decode()
    assert 'pool.submit(ctx.infer, "identity_string", inputs, outputs=[' in text
    assert ".add_done_callback(partial(finished, 1, ctx))\n" in text
    assert "print(number, got.as_numpy(OUTPUT)[0].tolist())\n" in text


def test_raw_stub(triton: TritonServer, tmp_path: Path) -> None:
    """A stub of the helpers returns what v1's stub returns: futures, streams, errors, statuses."""
    script = tmp_path / "script.py"
    script.write_text(STUB)
    before = run(script, triton.grpc)
    migration = migrated(STUB)
    assert todo(migration) == []
    write(migration, script)
    assert run(script, triton.grpc) == before
    assert before.status == 0, before.output
