"""Outputs in shared memory (docs/v1-behaviour.md §4.3): what is in the region, and what the call
returns.
"""

from __future__ import annotations

import tracemalloc
from typing import Any, Callable

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferContext
from tests.generation_marks import not_on
from tests.server.infer_cases import RAMP, Completions, client_error, server_error
from tests.server.shm_cases import Regions, contents, name_of
from tritonclient_shim.shm.region import RegionError

pytest_plugins = ["tests.server.shm_inference_fixtures"]

Connect = Callable[..., InferContext]
RAW = InferContext.ResultFormat.RAW
PAIR = {"INPUT0": [RAMP], "INPUT1": [RAMP]}
NUMERIC = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("pair", [tuple, list])
@pytest.mark.smoke
def test_region_and_result(open_context: Connect, memory: Regions, pair: Any) -> None:
    """The result lies in the region and is returned as an ordinary array."""
    # docs/v1-behaviour.md §4.3
    handle = memory.empty(64)
    outputs = {"OUTPUT0": pair([RAW, handle]), "OUTPUT1": RAW}
    results = open_context("simple").run(PAIR, outputs)
    assert list(results) == ["OUTPUT0", "OUTPUT1"]
    np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2])
    np.testing.assert_array_equal(results["OUTPUT1"], [RAMP * 0])
    np.testing.assert_array_equal(contents(handle, np.int32, 16), RAMP * 2)


def test_private_copies(open_context: Connect, memory: Regions) -> None:
    """Writable copies; neither writing to them nor the next result shows in the other."""
    # docs/v1-behaviour.md §4.3
    context, handle = open_context("simple"), memory.empty(64)
    (first,) = context.run(PAIR, {"OUTPUT0": (RAW, handle)})["OUTPUT0"]
    assert first.flags.writeable and first.flags.c_contiguous
    first[:] = -1
    np.testing.assert_array_equal(contents(handle, np.int32, 16), RAMP * 2)
    (second,) = context.run(PAIR, {"OUTPUT0": (RAW, handle)})["OUTPUT0"]
    assert first.tolist() == [-1] * 16
    assert second.tolist() == (RAMP * 2).tolist()


def test_both_outputs_and_inputs(open_context: Connect, memory: Regions) -> None:
    """Everything in regions; one region as input and output at once."""
    # docs/v1-behaviour.md §3.7, §4.3
    left, right = memory.holding(RAMP * 5), memory.holding(RAMP)
    outputs = {"OUTPUT1": (RAW, left), "OUTPUT0": (RAW, right)}
    results = open_context("simple").run({"INPUT0": left, "INPUT1": right}, outputs)
    assert list(results) == ["OUTPUT1", "OUTPUT0"]
    np.testing.assert_array_equal(results["OUTPUT1"], [RAMP * 4])
    np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 6])


def test_batch_in_a_larger_region(open_context: Connect, memory: Regions) -> None:
    """The region may be larger than needed; the rest of it stays as it was."""
    # docs/v1-behaviour.md §4.3
    handle = memory.holding(spare=512)
    inputs = {"INPUT0": [RAMP, RAMP + 1, RAMP + 2], "INPUT1": [RAMP] * 3}
    results = open_context("simple").run(inputs, {"OUTPUT0": (RAW, handle)}, 3)
    expected = [RAMP * 2 + number for number in range(3)]
    np.testing.assert_array_equal(results["OUTPUT0"], expected)
    np.testing.assert_array_equal(contents(handle, np.int32, 48), np.concatenate(expected))
    assert contents(handle, np.uint8, 512)[192:].tolist() == [0xFF] * 320


@pytest.mark.parametrize("kind", [*NUMERIC, "fp16", "fp32", "fp64"])
def test_every_type(open_context: Connect, memory: Regions, kind: str) -> None:
    """dtype and shape of every numeric type, variable dims, both ways."""
    # docs/v1-behaviour.md §4.1, §4.3
    dtype = np.dtype({"bool": "?"}.get(kind, kind.replace("fp", "float")))
    array = np.array([0, 1, 1, 0, 1], dtype)
    source, target = memory.holding(array), memory.empty(64)
    context = open_context(f"identity_{kind}")
    (result,) = context.run({"INPUT0": (source, [5])}, {"OUTPUT0": (RAW, target)})["OUTPUT0"]
    assert (result.dtype, result.shape, result.tolist()) == (dtype, (5,), array.tolist())


def test_strings(open_context: Connect, memory: Regions) -> None:
    """Strings are parsed one after another, whatever follows them in the region."""
    # docs/v1-behaviour.md §4.3
    handle = memory.holding(spare=300)
    rows = [np.array(row, dtype=object) for row in (["a", "", "é"], ["bb", "c" * 200, "d"])]
    outputs = {"OUTPUT0": (RAW, handle)}
    results = open_context("identity_string").run({"INPUT0": rows}, outputs, 2)
    assert [row.tolist() for row in results["OUTPUT0"]] == [
        [element.encode() for element in row] for row in rows
    ]
    assert all(row.dtype == object and row.shape == (3,) for row in results["OUTPUT0"])


@pytest.mark.parametrize("model", ["identity_nobatch", "identity_2d"])
def test_two_dims(open_context: Connect, memory: Regions, model: str) -> None:
    """Results of several dims, with and without batching (docs/v1-behaviour.md §4.3)."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs = {"OUTPUT0": (RAW, memory.empty(64))}
    (result,) = open_context(model).run({"INPUT0": [array]}, outputs)["OUTPUT0"]
    np.testing.assert_array_equal(result, array)
    assert result.shape == (2, 3)


# ------------------------------------------------------------------------------- refusals


@not_on("2.33", "destroys its own memory when the region of an output is too small")
@pytest.mark.smoke
def test_too_small(open_context: Connect, memory: Regions) -> None:
    """Region too small: the server error of 1.13 and later (docs/v1-behaviour.md §4.3)."""
    with server_error(
        "shared memory size specified with the request for output 'OUTPUT0' (60 bytes) should "
        "be at least 64 bytes to hold the results"
    ):
        open_context("simple").run(PAIR, {"OUTPUT0": (RAW, memory.empty(60))})


@pytest.mark.parametrize("name", ["plain", "a b/c%d:é"])
def test_unregistered_region(open_context: Connect, memory: Regions, name: str) -> None:
    """Unregistered region: a server error with the user's name."""
    # docs/v1-behaviour.md §3.7, §4.3
    with server_error(f"Unable to find shared memory region: '{name}'"):
        open_context("simple").run(PAIR, {"OUTPUT0": (RAW, memory.create(64, name))})


def test_unregistered_later(open_context: Connect, memory: Regions) -> None:
    """What was unregistered cannot be used any more, until it is registered again."""
    # docs/v1-behaviour.md §6.5
    context, handle = open_context("simple"), memory.empty(64)
    memory.control.unregister(handle)
    with server_error(f"Unable to find shared memory region: '{name_of(handle)}'"):
        context.run(PAIR, {"OUTPUT0": (RAW, handle)})
    memory.control.register(handle)
    np.testing.assert_array_equal(
        context.run(PAIR, {"OUTPUT0": (RAW, handle)})["OUTPUT0"], [RAMP * 2]
    )


@pytest.mark.parametrize("handle", [None, 5, "r"])
def test_no_handle(open_context: Connect, handle: Any) -> None:
    """(RAW, non-handle): v1's text (docs/v1-behaviour.md §3.8)."""
    with client_error(
        "shared memory requires tuple of size 2 - output_format(RAW), "
        "shared_memory_handle(c_void_p)"
    ):
        open_context("simple").run(PAIR, {"OUTPUT0": (RAW, handle)})


def test_unreadable_region(
    open_context: Connect, memory: Regions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA: a region that cannot be read back is a client error with the reason."""
    # docs/v1-behaviour.md §4.3
    text = "failed to read GPU shared memory results: simulated"

    def read(_: Any, offset: int, count: int) -> bytes:
        raise RegionError(text)

    context, handle = open_context("simple"), memory.empty(64)
    monkeypatch.setattr("tritonclient_shim.shm.system.SystemMemory.read", read)
    with client_error(text):
        context.run(PAIR, {"OUTPUT0": (RAW, handle)})
    assert context.get_last_request_id() is not None


# --------------------------------------------------------------------------------- quirks


@pytest.mark.parametrize("batch", [1, 2])
def test_empty_result(open_context: Connect, memory: Regions, batch: int) -> None:
    """Quirk: an empty numeric result stands twice in the list (docs/v1-behaviour.md §4.3)."""
    empty = np.empty(0, np.float32)
    outputs = {"OUTPUT0": (RAW, memory.empty(16))}
    results = open_context("identity_fp32").run({"INPUT0": [empty] * batch}, outputs, batch)
    shown = [(entry.shape, entry.dtype) for entry in results["OUTPUT0"]]
    assert shown == [((0,), np.float32)] * 2 * batch


def test_empty_strings_result(open_context: Connect, memory: Regions) -> None:
    """Quirk: an empty string result is NumPy's error (docs/v1-behaviour.md §4.3)."""
    outputs = {"OUTPUT0": (RAW, memory.empty(16))}
    with pytest.raises(ValueError, match=r"cannot reshape array of size 1 into shape \(0,\)"):
        open_context("identity_string").run({"INPUT0": [np.empty(0, object)]}, outputs)


def test_batch_size_zero(open_context: Connect, memory: Regions) -> None:
    """Batch size 0 with a shared-memory output: ZeroDivisionError, after the model ran."""
    # docs/v1-behaviour.md §3.5
    handle = memory.empty(64)
    with pytest.raises(ZeroDivisionError):
        open_context("simple").run(PAIR, {"OUTPUT0": (RAW, handle)}, 0)
    np.testing.assert_array_equal(contents(handle, np.int32, 16), RAMP * 2)


# ---------------------------------------------------------------------------- asynchronous


def test_async(open_context: Connect, memory: Regions) -> None:
    """With async_run: the region is read when the results are fetched."""
    # docs/v1-behaviour.md §4.3
    context, done = open_context("simple"), Completions()
    source, target = memory.holding(RAMP), memory.empty(64)
    inputs = {"INPUT0": source, "INPUT1": [RAMP]}
    context.async_run(done, inputs, {"OUTPUT0": (RAW, target)})
    (request_id,) = done.wait()
    np.testing.assert_array_equal(contents(target, np.int32, 16), RAMP * 2)
    shm.set_shared_memory_region(target, [RAMP + 7])
    np.testing.assert_array_equal(context.get_async_run_results(request_id)["OUTPUT0"], [RAMP + 7])


def test_many_async(open_context: Connect, memory: Regions) -> None:
    """Several requests in flight, each with regions of its own (docs/v1-behaviour.md §5)."""
    context = open_context("simple")
    ids = []
    for number in range(6):
        inputs = {"INPUT0": memory.holding(RAMP + number), "INPUT1": [RAMP]}
        ids.append(context.async_run(inputs, {"OUTPUT0": (RAW, memory.empty(64))}))
    for number, request_id in reversed(list(enumerate(ids))):
        results = context.get_async_run_results(request_id, True)
        np.testing.assert_array_equal(results["OUTPUT0"], [RAMP * 2 + number])


def test_async_unregistered(open_context: Connect, memory: Regions) -> None:
    """The server's refusal comes with the fetch, under the user's name of the region."""
    # docs/v1-behaviour.md §5
    context, done = open_context("simple"), Completions()
    name = "not registered/%"
    context.async_run(done, PAIR, {"OUTPUT0": (RAW, memory.create(64, name))})
    (request_id,) = done.wait()
    with server_error(f"Unable to find shared memory region: '{name}'"):
        context.get_async_run_results(request_id)


def test_destroyed_before_the_fetch(open_context: Connect, memory: Regions) -> None:
    """The memory of a destroyed region can still be read, its handle dropped or not."""
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


# ----------------------------------------------------------------------------------- cost


def test_one_copy(open_context: Connect, memory: Regions) -> None:
    """A large region costs no memory as input, and the private copy alone as output."""
    size = 16 << 20
    source, target = memory.empty(size), memory.empty(size)
    context = open_context("identity_uint8")
    inputs, outputs = {"INPUT0": (source, [size])}, {"OUTPUT0": (RAW, target)}
    shm.set_shared_memory_region(source, [np.arange(size, dtype=np.uint8)])
    context.run(inputs, outputs)
    tracemalloc.start()
    (result,) = context.run(inputs, outputs)["OUTPUT0"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result[:300].tolist() == [number % 256 for number in range(300)]
    assert size <= peak < size * 1.1
