"""v1 wire messages ↔ records: requests, v1's refusals, replies (docs/v1-behaviour.md §3.4, §9)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import TENSOR, V1Request, best_classes
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.servers.base import ModelProfile, TensorSpec
from tritonclient_shim.translate import v1_messages


def profile(
    dims: tuple[int, ...] = (2, 3),
    datatype: str = "FP32",
    largest: int = 8,
    shape_tensor: bool = False,
) -> ModelProfile:
    """Return a model m with the input A and the output B."""
    spec = TensorSpec("A", datatype, dims, is_shape_tensor=shape_tensor)
    return ModelProfile("m", largest, {"A": spec}, {"B": TensorSpec("B", "FP32", (4,))})


def header(batch: int = 1, dims: tuple[int, ...] = (), size: int = 0, **more: Any) -> Any:
    """Return a header with input A and requested output B."""
    result = api_pb2.InferRequestHeader(batch_size=batch, **more)
    result.input.add(name="A", dims=dims, batch_byte_size=size)
    result.output.add(name="B")
    return result


def lowered(model: ModelProfile, v1_header: Any, size: int) -> V1Request:
    """Return the request with one buffer of this size."""
    return v1_messages.to_request(
        model, -1, v1_messages.without_batch(model, v1_header), [bytes(size)]
    )


def refusal(model: ModelProfile, v1_header: Any, *data: bytes) -> str:
    """Return the text of the error that refuses a request as INVALID_ARGUMENT."""
    with pytest.raises(ServerError) as caught:
        v1_messages.to_request(model, -1, v1_header, data)
    assert caught.value.code == "INVALID_ARGUMENT"
    return caught.value.message


# ------------------------------------------------------------------------------- requests


def test_only_dims_with_the_batch_are_cut() -> None:
    """Of several inputs, those whose dims start with the batch size lose it."""
    spec = TensorSpec("B", "FP32", (4,))
    model = ModelProfile("m", 8, {**profile().inputs, "B": spec}, {"B": spec})
    message = header(2, (2, 2, 3))
    message.input.add(name="B", dims=(4,))
    result = v1_messages.without_batch(model, message)
    assert [list(item.dims) for item in result.input] == [[2, 3], [4]]
    assert list(message.input[0].dims) == [2, 2, 3]  # the caller's own message is unchanged


def test_model_without_batching_has_no_batch_in_dims() -> None:
    """A leading 1 is a wrong shape for a model that does not batch."""
    text = "unexpected shape for input 'A' for model 'm'. Expected [2,3], got [1,2,3]"
    assert refusal(profile(largest=0), header(1, (1, 2, 3)), bytes(24)) == text


@pytest.mark.parametrize(
    ("v1_header", "data", "text"),
    [
        (
            header(1, (2, 4)),
            (b"",),
            "unexpected shape for input 'A' for model 'm'. Expected [2,3], got [2,4]",
        ),
        (header(), (bytes(23),), "unexpected size 23 for input 'A', expecting 24 for model 'm'"),
        (header(2), (bytes(24),), "unexpected size 24 for input 'A', expecting 48 for model 'm'"),
        (
            header(),
            (),
            "expected tensor data for 1 inputs but got 0 sets of data for model 'm'",
        ),
    ],
)
def test_refusals(v1_header: Any, data: tuple[bytes, ...], text: str) -> None:
    """A wrong request has the refusal of v1's server, in its words (docs/v1-behaviour.md §3.4)."""
    assert refusal(profile(), v1_header, *data) == text


def test_shape_tensor_stands_once_for_the_batch() -> None:
    """A shape tensor has the bytes of one entry, whatever the batch size."""
    model = profile(dims=(3,), datatype="INT32", shape_tensor=True)
    assert lowered(model, header(4), 12).inputs[0].byte_size == 12


def test_strings() -> None:
    """Strings may have any size, unless the request gives a size (docs/v1-behaviour.md §3.6)."""
    model = profile(dims=(1,), datatype="BYTES")
    assert lowered(model, header(), 17).inputs[0].byte_size == 17
    assert lowered(model, header(size=17), 17).inputs[0].byte_size == 17
    text = "unexpected size 17 for input 'A', expecting 5 for model 'm'"
    assert refusal(model, header(size=5), bytes(17)) == text


def test_everything_a_header_has() -> None:
    """Every field of InferRequestHeader reaches the request (docs/v1-behaviour.md §8.1)."""
    result = header(
        2,
        flags=3,
        correlation_id=2**64 - 1,
        priority=7,
        timeout_microseconds=2**63,
        id=2**63 + 1,
    )
    result.output.add(name="B").cls.count = 5
    request = v1_messages.to_request(profile(), 4, result, [bytes(48)])
    assert (request.model_version, request.batch_size, request.flags) == (4, 2, 3)
    assert (request.correlation_id, request.priority) == (2**64 - 1, 7)
    assert (request.timeout_us, request.id) == (2**63, 2**63 + 1)
    assert [(output.name, output.form) for output in request.outputs] == [
        ("B", TENSOR),
        ("B", best_classes(5)),
    ]


# ----------------------------------------------------------------------------- HTTP bodies


def two_inputs() -> tuple[ModelProfile, Any]:
    """Return a model with a fixed and a string input, and a header for a batch of 2."""
    specs = {"A": TensorSpec("A", "INT16", (3,)), "S": TensorSpec("S", "BYTES", (1,))}
    result = api_pb2.InferRequestHeader(batch_size=2)
    result.input.add(name="A")
    result.input.add(name="S", batch_byte_size=10)
    return ModelProfile("m", 8, specs, {}), result


def test_body_is_cut_into_inputs() -> None:
    """A body has all batch entries of an input, then the next input, in the header's order."""
    # docs/v1-behaviour.md §9.1
    model, result = two_inputs()
    body = bytes(range(22))
    for cuts in ([], [12], [5, 14, 14]):
        pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, 22])]
        first, second = v1_messages.to_request_of_body(model, -1, result, pieces).inputs
        assert [b"".join(entry.chunks) for entry in (first, second)] == [body[:12], body[12:]]
        assert (first.byte_size, second.byte_size) == (12, 10)
    result.input[0].shared_memory.name = "r"
    shared, only = v1_messages.to_request_of_body(model, -1, result, [body[12:]]).inputs
    assert (shared.chunks, bytes(*only.chunks)) == ((), body[12:])
