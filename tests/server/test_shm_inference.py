"""Inputs in shared memory (docs/v1-behaviour.md §3.7), synchronous over HTTP and gRPC and on a
stream.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferContext, InferenceServerException, serialize_string_tensor
from tests.generation_marks import not_on
from tests.server.infer_cases import BOTH, ONE, RAMP, client_error, server_error
from tests.server.shm_cases import Regions, name_of

pytest_plugins = ["tests.server.shm_inference_fixtures"]

Connect = Callable[..., InferContext]
FLOATS = np.arange(6, dtype=np.float32)


def values(results: Any, output: str = "OUTPUT0") -> list[Any]:
    """The entries of a result as plain lists."""
    return [entry.tolist() for entry in results[output]]


def texts(*elements: str) -> np.ndarray[Any, Any]:
    """Elements as a region holds them."""
    tensor: np.ndarray[Any, Any] = serialize_string_tensor(np.array(elements, dtype=object))
    return tensor


# ------------------------------------------------------------------------------- handles


@pytest.mark.smoke
def test_bare_handle(open_context: Connect, memory: Regions) -> None:
    """Bare handle: the whole region is the input (docs/v1-behaviour.md §3.7)."""
    left, right = memory.holding(RAMP), memory.holding(RAMP * 10)
    results = open_context("simple").run({"INPUT0": left, "INPUT1": right}, BOTH)
    assert values(results) == [(RAMP * 11).tolist()]
    assert values(results, "OUTPUT1") == [(RAMP * -9).tolist()]


def test_mixed_with_arrays(open_context: Connect, memory: Regions) -> None:
    """Shared-memory and array inputs in one request, either way round."""
    # docs/v1-behaviour.md §3.7
    context, handle = open_context("simple"), memory.holding(RAMP)
    first = context.run({"INPUT0": handle, "INPUT1": [RAMP * 2]}, BOTH)
    second = context.run({"INPUT0": [RAMP * 2], "INPUT1": handle}, BOTH)
    assert values(first, "OUTPUT1") == [(-RAMP).tolist()]
    assert values(second, "OUTPUT1") == [RAMP.tolist()]


def test_batch(open_context: Connect, memory: Regions) -> None:
    """One handle for the whole batch, entries back to back; arrays beside it."""
    # docs/v1-behaviour.md §3.7
    handle = memory.holding(RAMP, RAMP + 100, RAMP + 200)
    inputs = {"INPUT0": handle, "INPUT1": [RAMP * 0, RAMP * 0 + 1, RAMP * 0 + 2]}
    results = open_context("simple").run(inputs, ONE, 3)
    assert values(results) == [(RAMP + 101 * number).tolist() for number in range(3)]


@pytest.mark.parametrize("model", ["simple_nobatch", "identity_reshape"])
def test_other_shapes(open_context: Connect, memory: Regions, model: str) -> None:
    """Models without batching, and with reshape, take regions as well."""
    # docs/v1-behaviour.md §3.7
    array = RAMP if model == "simple_nobatch" else FLOATS[:4]
    handle = memory.holding(array)
    inputs = {"INPUT0": handle}
    if model == "simple_nobatch":
        inputs["INPUT1"] = handle
    total = array * len(inputs)
    assert values(open_context(model).run(inputs, ONE)) == [total.tolist()]


@pytest.mark.parametrize(("size", "batch"), [(60, 1), (68, 1), (64, 2)])
@pytest.mark.smoke
def test_size_check(open_context: Connect, memory: Regions, size: int, batch: int) -> None:
    """Region byte size: it must be the tensor's, or the client refuses."""
    # docs/v1-behaviour.md §3.7
    handle = memory.empty(size)
    with client_error(
        f"The input 'INPUT0' has shared memory of size {size} bytes while the expected size is "
        f"{batch} * 64 = {batch * 64} bytes"
    ):
        open_context("simple").run({"INPUT0": handle, "INPUT1": [RAMP] * batch}, ONE, batch)


@pytest.mark.parametrize("name", ["plain", "a b/c%d:é"])
def test_unregistered_region(open_context: Connect, memory: Regions, name: str) -> None:
    """Unregistered region: a server error with the user's name (docs/v1-behaviour.md §3.7)."""
    handle = memory.create(64, name)
    with server_error(f"Unable to find shared memory region: '{name}'"):
        open_context("simple").run({"INPUT0": handle, "INPUT1": [RAMP]}, ONE)


def test_handles_are_checked(open_context: Connect) -> None:
    """A null handle crashed v1; it is a client error here (docs/v1-behaviour.md §7.4)."""
    import ctypes

    with client_error(
        "the shared memory handle is a null pointer: expected the c_void_p that "
        "create_shared_memory_region returned in this process"
    ):
        open_context("simple").run({"INPUT0": ctypes.c_void_p(), "INPUT1": [RAMP]}, ONE)


def test_after_destroy(open_context: Connect, memory: Regions) -> None:
    """destroy only unlinks: a registered region goes on working, both ways."""
    # docs/v1-behaviour.md §7.1
    source, target = memory.holding(RAMP), memory.empty(64)
    for handle in (source, target):
        shm.destroy_shared_memory_region(handle)
    context = open_context("simple")
    for factor in (1, 2):
        shm.set_shared_memory_region(source, [RAMP * factor])
        results = context.run(
            {"INPUT0": source, "INPUT1": source},
            {"OUTPUT0": (InferContext.ResultFormat.RAW, target)},
        )
        assert values(results) == [(RAMP * 2 * factor).tolist()]


# -------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize("shape", [[6], (6,), [6.0], [np.int64(6)]])
@pytest.mark.parametrize("pair", [tuple, list])
def test_shape(open_context: Connect, memory: Regions, shape: Any, pair: Any) -> None:
    """(handle, shape): variable dims; floats are cast (docs/v1-behaviour.md §3.7)."""
    value = pair([memory.holding(FLOATS), shape])
    assert values(open_context("identity_fp32").run({"INPUT0": value}, ONE)) == [FLOATS.tolist()]


def test_shape_of_a_batch(open_context: Connect, memory: Regions) -> None:
    """(handle, shape): the shape of one entry; several dims (docs/v1-behaviour.md §3.7)."""
    handle = memory.holding(FLOATS, FLOATS + 6)
    results = open_context("identity_2d").run({"INPUT0": (handle, [2, 3])}, ONE, 2)
    whole = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    assert values(results) == whole.tolist()


def test_shape_and_size(open_context: Connect, memory: Regions) -> None:
    """(handle, shape): the same size check (docs/v1-behaviour.md §3.7)."""
    with client_error(
        "The input 'INPUT0' has shared memory of size 24 bytes while the expected size is "
        "1 * 20 = 20 bytes"
    ):
        open_context("identity_fp32").run({"INPUT0": (memory.holding(FLOATS), [5])}, ONE)


def test_negative_shape(open_context: Connect, memory: Regions) -> None:
    """Negative: v1's text, whose closing quote really is missing (docs/v1-behaviour.md §3.7)."""
    with client_error(
        "attempt to set invalid shape dimension -1, shape dimensions must be >= 0 for input 'INPUT0"
    ):
        open_context("identity_fp32").run({"INPUT0": (memory.holding(FLOATS), [-1])}, ONE)


def test_no_shape_ever_set(open_context: Connect, memory: Regions) -> None:
    """Variable dims with a bare handle and no shape: v1's server error."""
    # docs/v1-behaviour.md §3.7
    with server_error(
        "model supports variable-size for input 'INPUT0', request must specify input shape for "
        "model 'identity_fp32'"
    ):
        open_context("identity_fp32").run({"INPUT0": memory.holding(FLOATS)}, ONE)


@pytest.mark.parametrize("by", ["array", "shape"])
def test_shape_sticks(open_context: Connect, memory: Regions, by: str) -> None:
    """A shape set once is sent with later bare handles (docs/v1-behaviour.md §3.7)."""
    context, handle = open_context("identity_fp32"), memory.holding(FLOATS)
    context.run({"INPUT0": [FLOATS] if by == "array" else (handle, [6])}, ONE)
    shm.set_shared_memory_region(handle, [FLOATS * 3])
    assert values(context.run({"INPUT0": handle}, ONE)) == [(FLOATS * 3).tolist()]


def test_wrong_shape_sticks(open_context: Connect, memory: Regions) -> None:
    """Also the wrong shape of a failed call (docs/v1-behaviour.md §3.7)."""
    context, handle = open_context("identity_fp32"), memory.holding(FLOATS)
    message = (
        "The input 'INPUT0' has shared memory of size 24 bytes while the expected size is "
        "1 * 28 = 28 bytes"
    )
    for value in ((handle, [7]), handle):
        with client_error(message):
            context.run({"INPUT0": value}, ONE)
    assert values(context.run({"INPUT0": (handle, [6])}, ONE)) == [FLOATS.tolist()]


# ------------------------------------------------------------------------------- strings


@pytest.mark.parametrize("spare", [0, 1, 40])
@pytest.mark.smoke
def test_strings(open_context: Connect, memory: Regions, spare: int) -> None:
    """Strings: fixed dims, a batch of two; the region may be larger than they are."""
    # docs/v1-behaviour.md §3.7
    left = texts(*map(str, range(32)))
    handle = memory.holding(left, spare=spare)
    inputs = {"INPUT0": handle, "INPUT1": [np.array(["1"] * 16, dtype=object)] * 2}
    results = open_context("simple_string").run(inputs, ONE, 2)
    sums = [str(number + 1).encode() for number in range(32)]
    assert values(results) == [sums[:16], sums[16:]]


def test_strings_of_variable_dims(open_context: Connect, memory: Regions) -> None:
    """Strings with a shape: empty, long and non-ASCII elements, exactly as they are."""
    # docs/v1-behaviour.md §3.7
    elements = ["", "é" * 300, "\0x\0", "last"]
    handle = memory.holding(texts(*elements), spare=8)
    results = open_context("identity_string").run({"INPUT0": (handle, [4])}, ONE)
    assert values(results) == [[element.encode() for element in elements]]


def test_strings_without_batching(open_context: Connect, memory: Regions) -> None:
    """Strings, a model that does not batch (docs/v1-behaviour.md §3.7)."""
    handle = memory.holding(texts("a", "bc"))
    results = open_context("identity_string_nobatch").run({"INPUT0": (handle, [2])}, ONE)
    assert values(results) == [[b"a", b"bc"]]


@not_on("2.33", "leaves it to the model to look into a tensor of strings")
def test_too_few_strings(open_context: Connect, memory: Regions) -> None:
    """The size of strings is not checked by the client; the server refuses them."""
    # docs/v1-behaviour.md §3.7
    handle = memory.holding(texts("a", "b"))
    with server_error("expected 3 string elements for inference input 'INPUT0'"):
        open_context("identity_string").run({"INPUT0": (handle, [3])}, ONE)


def test_shrunk_strings(open_context: Connect, memory: Regions) -> None:
    """A string region whose object somebody shrank is a client error, not a crash."""
    key = memory.new_key()
    handle = memory.create(64, "", key)
    memory.create(4, "smaller", key)
    with pytest.raises(
        InferenceServerException, match="another create_shared_memory_region"
    ) as caught:
        open_context("identity_string").run({"INPUT0": (handle, [3])}, ONE)
    assert str(caught.value).startswith(f"[ 0] shared memory region '{name_of(handle)}'")


# ------------------------------------------------------------------------------- PyTriton


def test_pytriton(pytriton: Any, protocol: int) -> None:
    """Models bound with PyTriton take and fill regions as well."""
    regions = Regions(pytriton.url(protocol), protocol)
    try:
        handle, target = regions.holding(RAMP, RAMP + 1), regions.empty(128)
        outputs = {"OUTPUT0": (InferContext.ResultFormat.RAW, target)}
        with InferContext(pytriton.url(protocol), protocol, "simple") as context:
            results = context.run({"INPUT0": handle, "INPUT1": [RAMP, RAMP]}, outputs, 2)
        assert values(results) == [(RAMP * 2).tolist(), (RAMP * 2 + 1).tolist()]
    finally:
        regions.remove()
