"""Profiles of models without a server's configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import InferenceServerException, InvalidRequest, ServerError
from tritonclient_shim.core.model import (
    InferReply,
    ModelMetadata,
    ServerMetadata,
    ShmSlice,
    TensorMetadata,
    TensorOut,
    V1Input,
    V1Output,
    V1Request,
    V1Result,
)
from tritonclient_shim.servers.base import Dialect, ModelProfile
from tritonclient_shim.servers.dialects import dialect_of
from tritonclient_shim.servers.open_servers import OpenServer
from tritonclient_shim.settings.models import UNLIMITED, declared_models
from tritonclient_shim.translate import to_v2
from tritonclient_shim.translate.to_v1 import ReplyPlan

SERVER = OpenServer("other 1")
X = TensorMetadata("x", "FP32", (-1, 4))


def profile(*inputs: TensorMetadata, setting: Any = None, server: Dialect = SERVER) -> Any:
    """Return the profile of a model with these inputs and the settings' mapping of it."""
    pairs = declared_models({"m": setting or {}})
    assert isinstance(server, OpenServer)
    return server.profile_of("m", ModelMetadata("m", "", inputs), dict(pairs)["m"])


@pytest.mark.parametrize(
    ("shapes", "largest", "dims"),
    [
        ([(-1, 4)], UNLIMITED, [(4,)]),
        ([(-1, 4), (-1, -1, 3)], UNLIMITED, [(4,), (-1, 3)]),
        ([(4,)], 0, [(4,)]),
        ([(-1, 4), (2,)], 0, [(-1, 4), (2,)]),
        ([(1, 3, 4)], 0, [(1, 3, 4)]),
        ([(-1,)], UNLIMITED, [(1,)]),
        ([()], 0, [(1,)]),
    ],
)
def test_batch_dimension(
    shapes: list[tuple[int, ...]], largest: int, dims: list[tuple[int, ...]]
) -> None:
    """A first dimension of -1 in all inputs is an unlimited batch dimension."""
    tensors = [TensorMetadata(str(place), "FP32", shape) for place, shape in enumerate(shapes)]
    result = profile(*tensors)
    assert result.max_batch_size == largest
    assert [spec.dims for spec in result.inputs.values()] == dims


def test_number_per_entry() -> None:
    """A tensor of shape [-1] has dims [1] in v1, which are not sent to the server."""
    known = profile(TensorMetadata("x", "INT8", (-1,)))
    request = V1Request(-1, 2, (V1Input("x", (1,), (b"\1", b"\2"), 2),), ())
    assert to_v2.infer_call(known, request, "http").inputs[0].shape == (2,)


def test_settings_win() -> None:
    """The setting's description of a tensor replaces and extends its metadata."""
    text = {"max_batch_size": 3, "inputs": {"x": {"datatype": "INT8", "dims": [-1]}, "y": {}}}
    result = profile(X, setting=text)
    assert result.max_batch_size == 3
    assert [(item.name, item.datatype, item.dims) for item in result.inputs.values()] == [
        ("x", "INT8", (-1,)),
        ("y", "", (-1,)),
    ]


def test_undeclared_tensors_are_open() -> None:
    """Only where neither the model nor the setting names any on that side."""
    assert open_sides(profile()) == (True, True)
    assert open_sides(profile(X)) == (False, True)
    text: Any = {"outputs": {"y": {}}}
    assert open_sides(profile(setting=text)) == (True, False)


def open_sides(known: ModelProfile) -> tuple[bool, bool]:
    """Return whether a model takes inputs, and has outputs, that it does not declare."""
    dialect = known.dialect
    return dialect.may_have_inputs(known), dialect.may_have_outputs(known)


def plain_arguments(inputs: Any, outputs: Any) -> RunArguments:
    """Return the arguments of a plain ``run``."""
    return RunArguments(inputs, outputs, 1, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("array", "datatype"),
    [
        (np.zeros(2, np.float16), "FP16"),
        (np.zeros(2, bool), "BOOL"),
        (np.array(["a"], object), "BYTES"),
        (np.array([b"ab"]), "BYTES"),
        (np.array(["ab"]), "BYTES"),
    ],
)
def test_types_of_arrays(array: Any, datatype: str) -> None:
    """An undeclared input has the type of its arrays."""
    result = SERVER.with_tensors_of(profile(), plain_arguments({"x": [array]}, {"y": 1}))
    assert result.inputs["x"].datatype == datatype
    assert list(result.outputs) == ["y"]


@pytest.mark.parametrize(
    "value",
    [
        [np.zeros(1, np.complex64)],
        [np.zeros(1, ">f4")],
        [np.zeros(1, np.float32), np.zeros(1, np.float64)],
    ],
)
def test_arrays_that_are_no_tensor(value: Any) -> None:
    """Types that v2 lacks or that differ are refused, not reinterpreted."""
    with pytest.raises(InferenceServerException, match="convert the arrays with astype"):
        SERVER.with_tensors_of(profile(), plain_arguments({"x": value}, {}))


def test_declared_models_stay_as_they_are() -> None:
    """Nothing is completed if the model declares all, or the server is Triton."""
    whole = profile(X, setting={"outputs": {"y": {"datatype": "FP32"}}})
    triton = ModelProfile("m", 0, {}, {})
    for known in (whole, triton):
        other = plain_arguments({"z": [np.zeros(1)]}, {"w": 1})
        assert known.dialect.with_tensors_of(known, other) is known


def request(**changes: Any) -> V1Request:
    """Return a request for one input, with these changes."""
    result = V1Request(-1, 1, (V1Input("x", (4,), (bytes(16),), 16),), ())
    return result._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "extension"),
    [
        ({"correlation_id": 3}, "sequence"),
        ({"flags": 1}, "sequence"),
        ({"inputs": (V1Input("x", (4,), shm=ShmSlice("r", 16)),)}, "system_shared_memory"),
    ],
)
def test_what_needs_an_extension(changes: dict[str, Any], extension: str) -> None:
    """A request is refused if the server lacks its extension, and sent if the server lists it."""
    with pytest.raises(InvalidRequest, match=f"needs the extension {extension}, .*'other 1'"):
        to_v2.infer_call(profile(X), request(**changes), "grpc")
    server = dialect_of(ServerMetadata("other", "1", (extension,)))
    assert to_v2.infer_call(profile(X, server=server), request(**changes), "grpc")


def test_binary_tensors() -> None:
    """Binary tensors are sent to servers that list them, and to KServe's; else JSON is sent."""
    for metadata, binary in (
        (ServerMetadata("other", "1"), False),
        (ServerMetadata("other", "1", ("binary_tensor_data",)), True),
        (ServerMetadata("kserve", "0.21.0", ("model_repository_extension",)), True),
    ):
        result = profile(X, server=dialect_of(metadata))
        assert to_v2.infer_call(result, request(), "http").binary is binary


def reply(*shape: int) -> InferReply:
    """Return a reply with one output of this shape."""
    data = np.arange(int(np.prod(shape)), dtype=np.float64).tobytes()
    return InferReply("m", "", (TensorOut("y", "FP64", shape, data),))


def results(model: ModelProfile, call: V1Request, answer: InferReply) -> tuple[V1Result, ...]:
    """Return the results of a reply."""
    return ReplyPlan(model, call.batch_size, call.outputs).read(answer, call.id, None).outputs


@pytest.mark.parametrize(
    ("shape", "dims"), [((1, 3), (3,)), ((1,), (1,)), ((), (1,)), ((3,), (3,)), ((2, 3), (2, 3))]
)
def test_result_of_one_entry(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    """An output belongs to the only batch entry, with or without a batch dimension."""
    call = request(outputs=(V1Output("y"),))
    (result,) = results(profile(X), call, reply(*shape))
    assert (result.datatype, result.dims) == ("FP64", dims)


def test_result_without_batch_dimension() -> None:
    """An output that fits no batch entry is refused. The advised setting makes it a result."""
    call = request(batch_size=2, outputs=(V1Output("y"),))
    with pytest.raises(ServerError, match="say max_batch_size 0 in the setting models"):
        results(profile(X), call, reply(3))
    whole = profile(X, setting={"max_batch_size": 0})
    call = request(inputs=(V1Input("x", (2, 4), (bytes(32),), 32),), outputs=(V1Output("y"),))
    assert to_v2.infer_call(whole, call, "http").inputs[0].shape == (2, 4)
    assert results(whole, call, reply(3))[0].dims == (3,)


def test_type_of_the_answer_counts() -> None:
    """Replies are read by their own types, not by the declared types."""
    text = {"outputs": {"y": {"datatype": "FP32", "dims": [3]}}}
    call = request(outputs=(V1Output("y"),))
    (result,) = results(profile(X, setting=text), call, reply(1, 3))
    assert (result.datatype, result.byte_size) == ("FP64", 24)
