"""Inputs and outputs in shared memory, in every calling style (docs/v1-behaviour.md §3.7, §4.3)."""

from __future__ import annotations

import os
import tracemalloc
from typing import Any, Callable

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    SharedMemoryControlContext,
    serialize_string_tensor,
)
from testbed import TritonServer
from tests.generation_marks import not_on
from tests.infer_cases import (
    BOTH,
    END,
    ONE,
    RAMP,
    START,
    Completions,
    client_error,
    int32,
    server_error,
)
from tests.scripted_triton import (
    ReceivedRequest,
    ScriptedReply,
    configuration,
    json_reply,
    refusal,
    scripted_triton,
)
from tests.shared_memory.shm_cases import Regions, contents, name_of
from tritonclient_shim.shm.regions import RegionError

Connect = Callable[..., InferContext]


FLOATS = np.arange(6, dtype=np.float32)


def values(results: Any, output: str = "OUTPUT0") -> list[Any]:
    """Return the entries of a result as plain lists."""
    return [entry.tolist() for entry in results[output]]


def texts(*elements: str) -> np.ndarray[Any, Any]:
    """Return elements as a region contains them."""
    tensor: np.ndarray[Any, Any] = serialize_string_tensor(np.array(elements, dtype=object))
    return tensor


@pytest.mark.smoke
def test_bare_handle(open_context: Connect, memory: Regions) -> None:
    """A bare handle makes the whole region the input (docs/v1-behaviour.md §3.7)."""
    left, right = memory.holding(RAMP), memory.holding(RAMP * 10)
    results = open_context("simple").run({"INPUT0": left, "INPUT1": right}, BOTH)
    assert values(results) == [(RAMP * 11).tolist()]
    assert values(results, "OUTPUT1") == [(RAMP * -9).tolist()]


@pytest.mark.smoke
def test_size_check(open_context: Connect, memory: Regions) -> None:
    """The client refuses a region whose size is not the tensor's."""
    # docs/v1-behaviour.md §3.7
    for size, batch in ((60, 1), (68, 1), (64, 2)):
        handle = memory.empty(size)
        with client_error(
            f"The input 'INPUT0' has shared memory of size {size} bytes while the expected size is "
            f"{batch} * 64 = {batch * 64} bytes"
        ):
            open_context("simple").run({"INPUT0": handle, "INPUT1": [RAMP] * batch}, ONE, batch)


def test_a_bare_handle_of_an_input_without_dims(memory: Regions) -> None:
    """An input that is configured without dims has no elements, so it takes no region."""
    # docs/v1-behaviour.md §3.3
    config = configuration("INT32", [1])
    config["input"][0]["dims"] = []
    with scripted_triton(lambda _: json_reply(config)) as server:
        handle = memory.create(4)
        with InferContext(server.url, 0, "m") as context, client_error(
            "The input 'X' has shared memory of size 4 bytes while the expected size is "
            "1 * 0 = 0 bytes"
        ):
            context.run({"X": handle}, {"Y": RAW})


def test_handles_are_checked(open_context: Connect) -> None:
    """A null handle is a client error; v1 crashed (docs/v1-behaviour.md §7.4)."""
    import ctypes

    with client_error(
        "the shared memory handle is a null pointer: expected the c_void_p that "
        "create_shared_memory_region returned in this process"
    ):
        open_context("simple").run({"INPUT0": ctypes.c_void_p(), "INPUT1": [RAMP]}, ONE)


@pytest.mark.parametrize("size", [2**63, 2**64])
def test_size_beyond_64_bits(open_context: Connect, memory: Regions, size: int) -> None:
    """A dimension that no protocol can carry is a client error that names the largest one."""
    handle = memory.holding(texts("a"))
    with client_error(
        f"attempt to set invalid shape dimension {size}, "
        f"shape dimensions must be <= {2**63 - 1} for input 'INPUT0'"
    ):
        open_context("identity_string_nobatch").run({"INPUT0": (handle, [size])}, ONE)


def test_shrunk_strings(open_context: Connect, memory: Regions) -> None:
    """A string region whose object was shrunk is a client error, not a crash."""
    key = memory.new_key()
    handle = memory.create(64, "", key)
    memory.create(4, "smaller", key)
    with pytest.raises(
        InferenceServerException, match="another create_shared_memory_region"
    ) as caught:
        open_context("identity_string").run({"INPUT0": (handle, [3])}, ONE)
    assert str(caught.value).startswith(f"[ 0] shared memory region '{name_of(handle)}'")


RAW = InferContext.ResultFormat.RAW


PAIR = {"INPUT0": [RAMP], "INPUT1": [RAMP]}


@pytest.mark.parametrize("pair", [tuple, list])
@pytest.mark.smoke
def test_region_and_result(open_context: Connect, memory: Regions, pair: Any) -> None:
    """An output in a region is also returned as an ordinary array."""
    # docs/v1-behaviour.md §4.3
    handle = memory.empty(64)
    outputs = {"OUTPUT0": pair([RAW, handle]), "OUTPUT1": RAW}
    results = open_context("simple").run(PAIR, outputs)
    assert list(results) == ["OUTPUT0", "OUTPUT1"]
    np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2])
    np.testing.assert_array_equal(results["OUTPUT1"], [RAMP * 0])
    np.testing.assert_array_equal(contents(handle, np.int32, 16), RAMP * 2)


def announced_larger(memory: Regions) -> Any:
    """Return a handle of more bytes than the 64 that are registered under its name."""
    key = memory.new_key()
    memory.control.register(memory.create(64, "announced", key))
    return memory.create(4096, "announced", key)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_output_announced_beyond_its_region(
    open_context: Connect, memory: Regions, asynchronous: bool
) -> None:
    """A handle of more bytes than were registered gets what the region has."""
    # docs/v1-behaviour.md §4.3
    larger = announced_larger(memory)
    context = open_context("simple")
    for _ in range(2):
        if asynchronous:
            request = context.async_run(PAIR, {"OUTPUT0": (RAW, larger)})
            results = context.get_async_run_results(request, True)
        else:
            results = context.run(PAIR, {"OUTPUT0": (RAW, larger)})
        np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2])


def test_an_output_of_a_sequence_announced_beyond_its_region(
    open_context: Connect, memory: Regions
) -> None:
    """An output of a sequence may be announced larger than its region: nothing is sent twice."""
    # docs/v1-behaviour.md §4.3
    larger = announced_larger(memory)
    context = open_context("sequence_sum", correlation_id=5300)
    sums = []
    for number, flags in ((3, START), (4, END)):
        results = context.run(int32(number), {"OUTPUT": (RAW, larger)}, 1, flags)
        sums.extend(values(results, "OUTPUT"))
    assert sums == [[3], [7]]


def test_a_region_registered_again_smaller(open_context: Connect, memory: Regions) -> None:
    """An output ends with its region also after the region was registered again, smaller."""
    # docs/v1-behaviour.md §4.3
    key = memory.new_key()
    larger = memory.create(4096, "announced", key)
    memory.control.register(larger)
    context = open_context("simple")
    context.run(PAIR, {"OUTPUT0": (RAW, larger)})
    memory.control.unregister(larger)
    memory.control.register(memory.create(64, "announced", key))
    results = context.run(PAIR, {"OUTPUT0": (RAW, larger)})
    np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2])


@not_on("2.33", "destroys its own memory when the region of an output is too small")
def test_a_region_registered_again_smaller_elsewhere(
    triton: TritonServer, open_context: Connect, way: str, memory: Regions
) -> None:
    """A context whose region another program made smaller is refused once, not for ever."""
    key = memory.new_key()
    larger = memory.create(4096, "announced", key)
    memory.control.register(larger)
    context = open_context("simple")
    elsewhere = int(way == "HTTP")
    with SharedMemoryControlContext(triton.url(elsewhere), elsewhere) as control:
        control.unregister(larger)
        control.register(memory.create(64, "announced", key))
    with server_error("Invalid offset + byte size for shared memory region: 'announced'"):
        context.run(PAIR, {"OUTPUT0": (RAW, larger)})
    results = context.run(PAIR, {"OUTPUT0": (RAW, larger)})
    np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2])


@pytest.mark.parametrize("lists", [True, False], ids=["lists", "refuses"])
def test_regions_are_listed_once(lists: bool) -> None:
    """The sizes of regions are fetched once. A server that refuses to list them infers anyway."""
    questions = []
    region = {"name": "elsewhere", "key": "/k", "offset": 0, "byte_size": 64}

    def reply(request: ReceivedRequest) -> ScriptedReply:
        if request.is_configuration:
            return json_reply(configuration("INT32", [16]))
        if request.is_inference:
            parameters = request.header["outputs"][0]["parameters"]
            assert parameters["shared_memory_byte_size"] == 64
            output = {"name": "Y", "datatype": "INT32", "shape": [16], "parameters": parameters}
            return json_reply({"model_name": "m", "model_version": "1", "outputs": [output]})
        questions.append(request.path)
        is_system = "systemsharedmemory" in request.path
        return json_reply([region] if is_system else []) if lists else refusal("not allowed")

    handle = shm.create_shared_memory_region("elsewhere", f"/shim_listed_{os.getpid()}", 64)
    with scripted_triton(reply) as server, InferContext(server.url, 0, "m") as context:
        for _ in range(3):
            context.run({"X": [RAMP]}, {"Y": (RAW, handle)})
    shm.destroy_shared_memory_region(handle)
    assert len(questions) == (2 if lists else 3)


@not_on("2.33", "destroys its own memory when the region of an output is too small")
@pytest.mark.smoke
def test_too_small(open_context: Connect, memory: Regions) -> None:
    """A region that is too small gives the server error of 1.13 and later."""
    # docs/v1-behaviour.md §4.3
    with server_error(
        "shared memory size specified with the request for output 'OUTPUT0' (60 bytes) should "
        "be at least 64 bytes to hold the results"
    ):
        open_context("simple").run(PAIR, {"OUTPUT0": (RAW, memory.empty(60))})


def test_unreadable_region(
    open_context: Connect, memory: Regions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CUDA region that cannot be read back is a client error with the reason."""
    # docs/v1-behaviour.md §4.3
    text = "failed to read GPU shared memory results: simulated"

    def read(_: Any, offset: int, count: int) -> bytes:
        raise RegionError(text)

    context, handle = open_context("simple"), memory.empty(64)
    monkeypatch.setattr("tritonclient_shim.shm.system.SystemRegion.read", read)
    with client_error(text):
        context.run(PAIR, {"OUTPUT0": (RAW, handle)})
    assert context.get_last_request_id() is not None


def test_async(open_context: Connect, memory: Regions) -> None:
    """async_run reads an output region when the results are fetched."""
    # docs/v1-behaviour.md §4.3
    context, done = open_context("simple"), Completions()
    source, target = memory.holding(RAMP), memory.empty(64)
    inputs = {"INPUT0": source, "INPUT1": [RAMP]}
    context.async_run(done, inputs, {"OUTPUT0": (RAW, target)})
    (request_id,) = done.wait()
    np.testing.assert_array_equal(contents(target, np.int32, 16), RAMP * 2)
    shm.set_shared_memory_region(target, [RAMP + 7])
    np.testing.assert_array_equal(context.get_async_run_results(request_id)["OUTPUT0"], [RAMP + 7])


def test_destroyed_before_the_fetch(open_context: Connect, memory: Regions) -> None:
    """Memory of a destroyed region stays readable, with and without its handle."""
    # docs/v1-behaviour.md §7.1
    context, handle = (
        open_context("simple"),
        shm.create_shared_memory_region("d", memory.new_key(), 64),
    )
    memory.control.register(handle)
    request_id = context.async_run(PAIR, {"OUTPUT0": (RAW, handle)})
    assert context.get_ready_async_request(True) == request_id
    memory.control.unregister(handle)
    shm.destroy_shared_memory_region(handle)
    del handle
    results = context.get_async_run_results(request_id, True)
    np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2])


def test_one_copy(open_context: Connect, memory: Regions) -> None:
    """A large region costs no memory as input, and only the private copy as output."""
    size = 16 << 20
    source, target = memory.empty(size), memory.empty(size)
    context = open_context("identity_uint8")
    inputs, outputs = {"INPUT0": (source, [size])}, {"OUTPUT0": (RAW, target)}
    shm.set_shared_memory_region(source, [np.arange(size, dtype=np.uint8)])
    kept = context.run(inputs, outputs)  # a dropped result would leave its memory to the next
    tracemalloc.start()
    (result,) = context.run(inputs, outputs)["OUTPUT0"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result[:300].tolist() == [number % 256 for number in range(300)]
    assert np.array_equal(kept["OUTPUT0"][0], result)
    assert size <= peak < size * 1.1
