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
from tests.reliability.fuzzed_arguments import ARRAYS, MODELS, RAW, good_values
from tests.reliability.fuzzing import documented, fuzzed, no_thread_more, refused
from tests.reliability.identified_calls import KINDS, within

PATIENCE = 60.0
#: The beginning of the keys of this process's regions.
KEY = f"/fuzzed_{os.getpid()}_"


@pytest.fixture
def handles() -> Iterator[list[Any]]:
    """Yield handles of a region and of a destroyed region.

    Remove all objects of this process afterwards. v1 left one when it refused a size.
    """
    region = shm.create_shared_memory_region("fuzzed_region", f"{KEY}region", 4096)
    gone = shm.create_shared_memory_region("fuzzed_gone", f"{KEY}gone", 64)
    shm.destroy_shared_memory_region(gone)
    yield [region, region, gone]
    for path in glob.glob(f"/dev/shm{KEY}*"):
        os.unlink(path)


class Side:
    """Triton over one protocol, with a context of each model."""

    def __init__(self, url: str, kind: str, handles: list[Any]) -> None:
        self.url, self.handles = url, handles
        self.protocol, self.streaming = KINDS[kind]
        self.contexts = {model: self._open(model) for model in MODELS}

    def _open(self, model: str) -> Any:
        return api.InferContext(self.url, self.protocol, model, streaming=self.streaming)

    def good_values(self, model: str) -> dict[str, Any]:
        """Return good values of each parameter."""
        return good_values(model, self.url, self.protocol, self.handles)

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


@pytest.fixture(params=KINDS)
def side(request: pytest.FixtureRequest, handles: list[Any], triton: Any) -> Iterator[Side]:
    """Yield Triton over one protocol. Check afterwards that no new thread is left."""
    before = threading.active_count()
    side = Side(triton.url(KINDS[request.param][0]), request.param, handles)
    with api.SharedMemoryControlContext(side.url, side.protocol) as control:
        control.register(handles[0])
        yield side
        control.unregister(handles[0])
    for context in side.contexts.values():
        context.close()
    assert no_thread_more(before, 4)


def arguments(draw: Any, function: Any, good: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return a value for each parameter, good or not, with some optional parameters left out."""
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
    **dict.fromkeys(("verbose", "streaming", "wait"), odd.leaves),
    "shm_key": odd.anything.map(_own_key) | st.sampled_from(["", "/", b"//", ".", "/.."]),
}
#: Methods of a context with the signature of the arguments. v1 before 1.8 had the last two.
METHODS = {
    "run": api.InferContext.run,
    "async_run": api.InferContext.async_run,
    "get_async_run_results": api.InferContext.get_async_run_results,
    "get_ready_async_request": api.InferContext.get_ready_async_request,
    "async_run by id": api.InferContext.run,
    "async_run_with_cb": api.InferContext.async_run,
}


@fuzzed("arguments of requests")
@given(data=st.data())
def test_infer(side: Side, data: Any) -> None:
    """Requests with any arguments return a result or raise a documented exception."""
    model = data.draw(st.sampled_from(list(MODELS)))
    name = data.draw(st.sampled_from(list(METHODS)))
    method = getattr(side.contexts[model], name.partition(" ")[0])
    positional, named = arguments(data.draw, METHODS[name], side.good_values(model))
    of = method if name.startswith("get") else api.InferContext.run
    attempt(lambda: method(*positional, **named), documented(of))
    side.well(model)


#: The classes of contexts, and the methods of those that are not for inference.
CONTEXTS: dict[Any, list[str]] = {
    api.InferContext: ["get_stat", "correlation_id"],
    api.ServerStatusContext: ["get_server_status"],
    api.ServerHealthContext: ["is_live", "is_ready"],
    api.ModelRepositoryContext: ["get_model_repository_index"],
    api.ModelControlContext: ["load", "unload"],
    api.SharedMemoryControlContext: ["register", "unregister", "cuda_register"],
}


@fuzzed("arguments of contexts")
@given(data=st.data())
def test_contexts(side: Side, data: Any) -> None:
    """Constructors and methods with any arguments return or raise a documented exception."""
    model = data.draw(st.sampled_from(list(MODELS)))
    good = side.good_values(model)
    kind = data.draw(st.sampled_from(list(CONTEXTS)))
    if kind is not api.InferContext:
        good["model_name"] = st.sampled_from(["spare", "unknown", "", b"spare"]) | odd.texts
    positional, named = arguments(data.draw, kind, good)
    allowed = documented(kind) or documented(ServerContext.__init__)
    context = attempt(lambda: kind(*positional, **named), allowed)
    if context is None:
        return
    for name in data.draw(st.lists(st.sampled_from([*CONTEXTS[kind], "close"]), max_size=4)):
        method = getattr(context, name)
        positional, named = arguments(data.draw, method, good)
        allowed = () if name == "close" else documented(method) or documented(ServerContext)
        attempt(partial(method, *positional, **named), allowed)
        assert context.get_last_request_id() is None or context.get_last_request_id() >= 0
    context.close()
    side.well(model)


#: Functions without a server.
FUNCTIONS: list[Any] = [
    *(api.serialize_string_tensor, shm.serialize_string_tensor, cuda.serialize_string_tensor),
    *(shm.create_shared_memory_region, shm.set_shared_memory_region),
    *(shm.destroy_shared_memory_region, cuda.create_shared_memory_region),
    *(cuda.set_shared_memory_region, cuda.destroy_shared_memory_region),
    *(api.ProtocolType.from_str, tritonclient_shim.unwrap, api.iteritems),
    *(api.InferenceServerException, shm.SharedMemoryException, cuda.CudaSharedMemoryException),
]


@fuzzed("arguments of functions")
@given(data=st.data())
def test_functions(data: Any, handles: list[Any]) -> None:
    """Functions without a server return or raise a documented exception."""
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
        attempt(lambda: shm.destroy_shared_memory_region(result), ("SharedMemoryException",))
    own = shm.create_shared_memory_region("fuzzed_own", f"{KEY}own", 64)
    shm.set_shared_memory_region(own, [np.arange(16, dtype=np.int32)])
    shm.destroy_shared_memory_region(own)
