"""Every public signature, called with arguments of any type, value and size."""

from __future__ import annotations

import glob
import inspect
import os
import threading
from functools import partial
from typing import Any, Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tritonclient_shim
from tensorrtserver import api
from tensorrtserver import cuda_shared_memory as cuda
from tensorrtserver import shared_memory as shm
from tensorrtserver.api._contexts import ServerContext
from tests.reliability import odd_values as odd
from tests.reliability.amounts import amount
from tests.reliability.counts import Tried
from tests.reliability.fuzzed_arguments import ARRAYS, MODELS, RAW, good_values
from tests.reliability.fuzzed_models import served_models
from tests.reliability.fuzzing import documented, fuzzed, no_thread_more, refused
from tests.reliability.identified_calls import within
from tritonclient_shim import testing

ARGUMENTS = "Arguments of any kind: documented exceptions that say something, and a usable context"
PATIENCE = 60.0
#: The beginning of the keys of this process's regions.
KEY = f"/fuzzed_{os.getpid()}_"
PARTS = 9  # two for each kind of server, and one without


class Side:
    """A server over one protocol, with a context of each model and handles in every state."""

    def __init__(self, url: str, protocol: int, streaming: bool) -> None:
        self.url, self.protocol, self.streaming = url, protocol, streaming
        self.region = shm.create_shared_memory_region("fuzzed_region", f"{KEY}region", 4096)
        gone = shm.create_shared_memory_region("fuzzed_gone", f"{KEY}gone", 64)
        shm.destroy_shared_memory_region(gone)
        self.handles = [self.region, self.region, gone]
        self.contexts = {model: self.open(model) for model in MODELS}
        self.control = api.SharedMemoryControlContext(url, protocol)
        self.control.register(self.region)

    def open(self, model: str) -> Any:
        return api.InferContext(self.url, self.protocol, model, streaming=self.streaming)

    def well(self, model: str) -> None:
        """Check that a good call of the same context gets its right result."""
        array = ARRAYS[model][0]
        names, output = MODELS[model]
        inputs = {name: [array] for name in names}
        result = self.contexts[model].run(inputs, {output: RAW})[output][0]
        if model == "simple":
            array = array + array
        elif model == "simple_string":
            array = np.array([b"%d" % (2 * int(item)) for item in array], object)
        np.testing.assert_array_equal(result, array)

    def close(self) -> None:
        self.control.unregister(self.region)
        for item in (*self.contexts.values(), self.control):
            item.close()
        shm.destroy_shared_memory_region(self.region)


KINDS = {
    "in process": (None, False),
    "http": (0, False),
    "grpc": (1, False),
    "stream": (1, True),
}


@pytest.fixture(params=KINDS)
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    """Yield a server in this process, or Triton in each of the ways to call it."""
    protocol, streaming = KINDS[request.param]
    if protocol is None:
        with testing.server(**served_models()) as running:
            side = Side(running.http, 0, False)
            yield side
            side.close()
        return
    triton = request.getfixturevalue("triton")
    side = Side(triton.url(protocol), protocol, streaming)
    yield side
    side.close()


_CALLS = ["run", "run", "run", "async_run", "async_run", "async_run_with_cb", "async_run by id"]
_FETCHES = ["get_async_run_results", "get_ready_async_request", "get_stat", "correlation_id"]
_SERVER = {
    "InferContext": [],
    "ServerStatusContext": ["get_server_status"],
    "ServerHealthContext": ["is_live", "is_ready"],
    "ModelRepositoryContext": ["get_model_repository_index"],
    "ModelControlContext": ["load", "unload"],
    "SharedMemoryControlContext": ["register", "unregister", "cuda_register"],
}


def arguments(draw: Any, function: Any, good: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return a value for each parameter, good or not. Leave some out, and add some."""
    positional, named = [], {}
    by_name = False
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty and draw(st.integers(0, 3)) == 0:
            by_name = True  # the rest by name
            continue
        value = draw(odd.mostly(good[name], OTHERS.get(name, odd.anything)))
        if by_name or parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = value
        else:
            positional.append(value)
    return positional, named


def attempt(call: Callable[[], Any], allowed: tuple[str, ...]) -> Any:
    """Return what the call returns; None for an exception that is documented and says something."""
    try:
        return within(PATIENCE, call)
    except Exception as error:
        assert refused(error, allowed), f"{type(error).__name__}: {error}"
        return None


def _own_key(value: Any) -> Any:
    """Return a key that only this process uses, from any value that could be a key."""
    if isinstance(value, bytes):
        return KEY.encode() + value
    return KEY + value if isinstance(value, str) else value


#: Odd values of a parameter, if not every value is allowed.
OTHERS = {
    **dict.fromkeys(("verbose", "streaming", "wait"), odd.with_truth),
    "shm_key": odd.anything.map(_own_key) | st.sampled_from(["", "/", b"//", ".", "/.."]),
}
OF_RUN = documented(api.InferContext.run)


@fuzzed("arguments of any kind", PARTS)
@given(data=st.data())
def _infer(side: Side, data: Any) -> None:
    model = data.draw(st.sampled_from(list(MODELS)))
    context = side.contexts[model]
    good = good_values(model, side.url, side.protocol, side.handles)
    name = data.draw(st.sampled_from(_CALLS + _FETCHES))
    method = getattr(context, name.partition(" ")[0])
    shape = api.InferContext.run if name == "async_run by id" else method
    if name == "async_run_with_cb":
        shape = context.async_run
    allowed = documented(method)
    positional, named = arguments(data.draw, shape, good)
    if name in _CALLS:
        allowed = OF_RUN
    attempt(lambda: method(*positional, **named), allowed)
    side.well(model)


def test_infer(side: Side, tried: Tried) -> None:
    """Requests with any arguments return a result or raise a documented exception."""
    before = threading.active_count()
    _infer(side)
    assert no_thread_more(before, 4)
    tried(ARGUMENTS, amount("arguments of any kind") // PARTS, "calls")


@fuzzed("arguments of any kind", PARTS)
@given(data=st.data())
def _contexts(side: Side, data: Any) -> None:
    model = data.draw(st.sampled_from(list(MODELS)))
    good = good_values(model, side.url, side.protocol, side.handles)
    kind = data.draw(st.sampled_from(list(_SERVER)))
    if kind != "InferContext":
        good["model_name"] = st.sampled_from(["spare", "unknown", "", b"spare"]) | odd.texts
    made_of = getattr(api, kind)
    positional, named = arguments(data.draw, made_of, good)
    allowed = documented(made_of) or documented(ServerContext.__init__)
    context = attempt(lambda: made_of(*positional, **named), allowed)
    if context is None:
        return
    for name in data.draw(st.lists(st.sampled_from([*_SERVER[kind], "close"]), max_size=4)):
        method = getattr(context, name)
        positional, named = arguments(data.draw, method, good)
        allowed = () if name == "close" else documented(method) or documented(ServerContext)
        attempt(partial(method, *positional, **named), allowed)
        assert context.get_last_request_id() is None or context.get_last_request_id() >= 0
    context.close()


def test_contexts(side: Side, tried: Tried) -> None:
    """Constructors and methods with any arguments return or raise a documented exception."""
    before = threading.active_count()
    _contexts(side)
    for model in MODELS:
        side.well(model)
    assert no_thread_more(before, 4)
    tried(ARGUMENTS, amount("arguments of any kind") // PARTS, "calls")


#: Functions without a server.
FUNCTIONS: list[Any] = [
    *(api.serialize_string_tensor, shm.serialize_string_tensor, cuda.serialize_string_tensor),
    *(shm.create_shared_memory_region, shm.set_shared_memory_region),
    *(shm.destroy_shared_memory_region, cuda.create_shared_memory_region),
    *(cuda.set_shared_memory_region, cuda.destroy_shared_memory_region),
    *(api.ProtocolType.from_str, tritonclient_shim.unwrap, api.iteritems),
    *(api.InferenceServerException, shm.SharedMemoryException, cuda.CudaSharedMemoryException),
]


@fuzzed("arguments of any kind", PARTS)
@given(data=st.data())
def _functions(data: Any, handles: list[Any]) -> None:
    good = good_values("simple", "127.0.0.1:1", 0, handles)
    good["shm_key"] = st.sampled_from([f"{KEY}key", f"{KEY}key"[1:].encode()])
    for name in ("context", "server_id", "status", "debug_details"):
        good[name] = odd.anything
    function = data.draw(st.sampled_from(FUNCTIONS))
    positional, named = arguments(data.draw, function, good)
    result = attempt(lambda: function(*positional, **named), documented(function))
    if isinstance(result, Exception):
        assert isinstance(str(result) + repr(result), str)
    if function is shm.create_shared_memory_region and result is not None:
        array = np.arange(4, dtype=np.uint8)[: positional[2] if len(positional) > 2 else 0]
        shm.set_shared_memory_region(result, [array])
        attempt(lambda: shm.destroy_shared_memory_region(result), ("SharedMemoryException",))


@pytest.fixture
def no_regions() -> Iterator[None]:
    """Remove the objects of this process. v1 left one when it refused a size."""
    yield
    for path in glob.glob(f"/dev/shm{KEY}*"):
        os.unlink(path)


@pytest.mark.usefixtures("no_regions")
def test_functions(tried: Tried) -> None:
    """Functions without a server return or raise a documented exception."""
    region = shm.create_shared_memory_region("fuzzed", f"{KEY}region", 64)
    gone = shm.create_shared_memory_region("fuzzed", f"{KEY}gone", 64)
    shm.destroy_shared_memory_region(gone)
    _functions(handles=[region, gone])
    again = shm.create_shared_memory_region("fuzzed", f"{KEY}region", 64)
    shm.set_shared_memory_region(again, [np.arange(16, dtype=np.int32)])
    shm.destroy_shared_memory_region(again)
    tried(ARGUMENTS, amount("arguments of any kind") // PARTS, "calls")
