"""Requests and results that no model of the standard repository shows.

(docs/v1-behaviour.md §3.3, §4.1)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import (
    InferenceServerException,
    InvalidRequest,
    ServerError,
    UnreadableReply,
)
from tritonclient_shim.core.model import (
    HTTP,
    TENSOR,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorOut,
    V1Input,
    V1Output,
    V1Reply,
    V1Request,
    V1Result,
    best_classes,
)
from tritonclient_shim.servers.base import ModelProfile, TensorSpec
from tritonclient_shim.translate import request, result, to_v2
from tritonclient_shim.translate.to_v1 import ReplyPlan

SHAPE = TensorSpec("SHAPE", "INT32", (2,), is_shape_tensor=True)
DATA = TensorSpec("DATA", "FP32", (-1,))
DEEP = TensorSpec("DEEP", "FP32", (1,) * 17)
PROFILE = ModelProfile("m", 8, {"DATA": DATA, "SHAPE": SHAPE}, {"DATA": DATA, "DEEP": DEEP})

ROW = np.zeros(3, np.float32)
TWO = np.array([3, 4], np.int32)


def bind(batch_size: int, **inputs: Any) -> V1Request:
    bound = [
        request.compile_input(PROFILE, name, value, batch_size).bind(value, {}, _no_region)
        for name, value in inputs.items()
    ]
    return V1Request(-1, batch_size, tuple(bound), ())


def parse(batch_size: int, outputs: Any = None) -> request.Options:
    arguments = RunArguments({}, outputs or {}, batch_size, 0, 0, 0, 0)
    return request.parse_options(PROFILE, arguments, _no_region)


def _no_region(handle: object) -> Any:
    raise AssertionError("there is no shared memory here")


def test_shape_tensor() -> None:
    """A shape tensor is one array for the whole batch, sent without batch dimension."""
    # docs/v1-behaviour.md §3.3
    call = to_v2.infer_call(PROFILE, bind(2, DATA=[ROW, ROW], SHAPE=[TWO]), HTTP)
    assert [(item.name, item.shape) for item in call.inputs] == [("DATA", (2, 3)), ("SHAPE", (2,))]
    assert [item.byte_size for item in call.inputs] == [24, 8]


def test_second_shape_tensor() -> None:
    """A second array for a shape tensor is refused in v1's words (docs/v1-behaviour.md §3.3)."""
    with pytest.raises(InferenceServerException) as caught:
        bind(2, DATA=[ROW, ROW], SHAPE=[TWO, TWO])
    assert caught.value.message() == (
        "expecting single invocation of SetRaw for shape input 'SHAPE', one shape tensor should "
        "represent the shape for entire batch"
    )


def raised(name: str, shape: tuple[int, ...]) -> Any:
    """Return run()'s result for one output of this shape, all zeros."""
    options = parse(1, {name: (1,)})
    outputs = tuple([requested.output for requested in options.outputs])
    plan = ReplyPlan(PROFILE, 1, outputs)
    size = 4 * int(np.prod(shape))
    answer = InferReply("m", "1", (TensorOut(name, "FP32", shape, bytes(size)),))
    return result.results_of(options, plan.read(answer, 0, None))


@pytest.mark.parametrize("dims", [None, (3,)], ids=["no dims", "dims"])
def test_input_that_the_model_has_no_more(dims: Any) -> None:
    """An input that a reloaded model lacks is refused as by v1's server."""
    # docs/v1-behaviour.md §3.4
    instance = V1Request(-1, 1, (V1Input("GONE", dims, (b"1234",), 4),), ())
    with pytest.raises(InvalidRequest, match="^unexpected inference input 'GONE' for model 'm'$"):
        to_v2.infer_call(PROFILE, instance, HTTP)


def test_sixteen_dimensions() -> None:
    """A result may have sixteen dims, as in v1; a further dimension is an error."""
    # docs/v1-behaviour.md §3.3
    assert raised("DATA", (1,) * 17)["DATA"][0].shape == (1,) * 16
    with pytest.raises(InferenceServerException) as caught:
        raised("DEEP", (1,) * 18)
    assert str(caught.value) == "[ 0] number of dimensions in result shape exceeds maximum of 16"


@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)])
def test_rows(shape: tuple[int, ...]) -> None:
    """An output without a row per batch entry is refused, though v2 allows it."""
    # docs/v1-behaviour.md §3.4
    with pytest.raises(ServerError, match="but model configuration specifies shape"):
        raised("DATA", shape)


def test_output_in_two_forms() -> None:
    """An output requested raw and as classes appears once, raw, in either order."""
    # docs/v1-behaviour.md §3.8; the server classifies for a model with state
    labelled = TensorSpec("OUT", "FP32", (4,), label_filename="labels.txt")
    model = ModelProfile("m", 8, {}, {"OUT": labelled}, stateful=True)
    forms = (V1Output("OUT", best_classes(2)), V1Output("OUT"))
    for outputs, wanted in {
        forms: TENSOR,
        forms[::-1]: TENSOR,
        forms[:1]: best_classes(2),
    }.items():
        call = to_v2.infer_call(model, V1Request(-1, 1, (), outputs), HTTP)
        assert call.outputs == (OutputSpec("OUT", wanted),)


def test_output_without_dimensions() -> None:
    """Each entry of an output without dimensions is an array without dimensions."""
    actual = result.arrays("INT32", (), np.array([5, 6], np.int32).tobytes(), 2)
    assert [(array.shape, int(array)) for array in actual] == [((), 5), ((), 6)]


def test_empty_view() -> None:
    """An empty part of a message is an empty array, although NumPy refuses it."""
    (array,) = result.arrays("INT32", (0, 4), memoryview(b""), 1)
    assert (array.shape, array.dtype) == ((0, 4), np.int32)


def test_too_few_strings() -> None:
    """A reply with fewer strings than its shape holds is a client error, no ValueError."""
    # docs/v1-behaviour.md §4.1
    options = request.Options((request.RequestedOutput("T", V1Output("T")),), 1)
    reply = V1Reply("m", 1, 1, (V1Result("T", "BYTES", (2,), 5, b"\1\0\0\0a"),))
    with pytest.raises(UnreadableReply, match=r"cannot reshape array of size 1 into shape"):
        result.results_of(options, reply)


def test_received_bytes_are_not_shared() -> None:
    """Results are private arrays: a view on a message is copied, also an unaligned view."""
    # docs/v1-behaviour.md §4.1
    message = bytes(9)
    for data in (memoryview(message)[:8], memoryview(bytearray(message))[1:]):
        (array,) = result.arrays("FP64", (1,), data, 1)
        assert array.flags.writeable
        assert array.flags.aligned


class Overwritten:
    """A shared-memory region with bytes that are no strings."""

    name, byte_size = "r", 8

    def read(self, offset: int, count: int) -> bytes:
        return b"\xff" * 8


def test_a_region_without_the_strings_that_it_should_have() -> None:
    """A string output in a region with other bytes is a client error, no ValueError."""
    where = ShmSlice("r", 8)
    wanted = request.RequestedOutput("T", V1Output("T", shm=where), Overwritten())
    options = request.Options((wanted,), 1)
    reply = V1Reply("m", 1, 1, (V1Result("T", "BYTES", (1,), 8, None, where),))
    with pytest.raises(UnreadableReply, match="malformed string tensor"):
        result.results_of(options, reply)
