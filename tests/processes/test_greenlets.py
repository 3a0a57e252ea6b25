"""Contexts and stubs in processes whose threads gevent or eventlet has replaced by greenlets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.own_interpreter import run_program

#: What a program begins with, by the library that replaces its threads.
PATCHES = {
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "gevent, late": (
        "import tensorrtserver.api, tritonclient_shim.session.streams\n"
        "import tritonclient_shim.backends.http.backend, tritonclient_shim.backends.grpc.backend\n"
        "import tritonclient_shim.stub\n"
        "from gevent import monkey; monkey.patch_all()"
    ),
    "eventlet": "import eventlet; eventlet.monkey_patch()",
    "eventlet, real threads": "import eventlet; eventlet.monkey_patch(thread=False)",
}
COMMON = """
import faulthandler, sys
faulthandler.dump_traceback_later(60, exit=True)
import grpc
import numpy as np
from tensorrtserver.api import *
from tensorrtserver.api import grpc_service_pb2, grpc_service_pb2_grpc
http, url = sys.argv[1:]
A = np.arange(16, dtype=np.int32)
INPUTS, RAW = {'INPUT0': [A], 'INPUT1': [A]}, {'OUTPUT0': InferContext.ResultFormat.RAW}
def check(result):
    assert result['OUTPUT0'][0].tolist() == (A * 2).tolist()
def check_context(address, protocol, streaming=False):
    with InferContext(address, protocol, 'simple', streaming=streaming) as context:
        check(context.run(INPUTS, RAW))
        check(context.get_async_run_results(context.async_run(INPUTS, RAW), True))
def requests(number):
    request = grpc_service_pb2.InferRequest(model_name='simple', model_version=-1)
    request.meta_data.batch_size = 1
    for name in ('INPUT0', 'INPUT1'):
        request.meta_data.input.add().name = name
        request.raw_input.append(A.tobytes())
    request.meta_data.output.add().name = 'OUTPUT0'
    return [request] * number
channel = grpc.insecure_channel(url)
stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
"""
CALLS = """
assert ServerHealthContext(http, 0).is_live() and ServerHealthContext(url, 1).is_live()
check_context(http, 0)
check_context(url, 1)
assert stub.Infer(*requests(1)).raw_output and stub.Infer.future(*requests(1)).result().raw_output
assert stub.Health.future(grpc_service_pb2.HealthRequest(mode='live')).result().health
large = np.ones((1, 5 << 20), np.float32)
with InferContext(url, 1, 'identity_nobatch') as context:
    result = context.run({'INPUT0': [large]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
    assert result['OUTPUT0'][0].size == large.size
"""
STREAMS = """
check_context(url, 1, streaming=True)
assert all(len(response.raw_output) == 1 for response in stub.StreamInfer(iter(requests(3))))
"""
REFUSED_STREAMS = """
try:
    check_context(url, 1, streaming=True)
except InferenceServerException as error:
    assert 'call eventlet.monkey_patch(thread=False)' in str(error), error
else:
    raise AssertionError('a stream worked')
try:
    list(stub.StreamInfer(iter(requests(3))))
except grpc.RpcError as error:
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert 'call eventlet.monkey_patch(thread=False)' in error.details(), error
else:
    raise AssertionError('a stream worked')
"""
MANY_GREENLETS = """
import gevent
def work(number):
    for _ in range(10):
        check_context(url, 1, streaming=bool(number % 2))
gevent.joinall([gevent.spawn(work, number) for number in range(20)], raise_error=True)
"""


def run_patched(patch: str, triton: Any, *parts: str) -> None:
    """Run the parts of a program in a process with the patch; they must succeed."""
    pytest.importorskip(patch.partition(",")[0])
    program = "\n".join((PATCHES[patch], COMMON, *parts, "import os; os._exit(0)"))
    ended = run_program(program, triton.http, triton.grpc)
    assert ended.status == 0, ended.stderr


@pytest.mark.parametrize("patch", PATCHES)
def test_calls(triton: Any, patch: str) -> None:
    """Calls work over HTTP and gRPC, by contexts and stubs, also with large inputs."""
    run_patched(patch, triton, CALLS)


@pytest.mark.parametrize("patch", ["gevent", "gevent, late", "eventlet, real threads"])
def test_streams(triton: Any, patch: str) -> None:
    """Streams of contexts and stubs work."""
    run_patched(patch, triton, STREAMS)


def test_refused_streams(triton: Any) -> None:
    """Where eventlet has replaced threads, the error of a stream names the remedy."""
    run_patched("eventlet", triton, REFUSED_STREAMS, CALLS)


def test_many_greenlets(triton: Any) -> None:
    """Many greenlets use contexts at one time, with streams and without."""
    run_patched("gevent", triton, MANY_GREENLETS)


def test_prepared_program(triton: Any) -> None:
    """A program that has called gRPC's ``init_gevent`` itself works."""
    prepared = "import grpc.experimental.gevent as grpc_gevent; grpc_gevent.init_gevent()"
    run_patched("gevent", triton, prepared, STREAMS, CALLS)
