"""Inference requests and responses as HTTP bodies (KServe v2).

With the binary tensor data extension a body is a JSON header and the bytes of the tensors: in a
request the pieces they came in, in a response views on the body received. Without it the tensors
are JSON, and numbers are exact both ways. JSON has no infinity, and none is sent. NaN is sent as
``null``, which MLServer and KServe read as NaN. ``null`` in a reply is refused: they also write it
for an infinity (docs/v2-mapping.md §14). No I/O here.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import chain
from json.encoder import encode_basestring_ascii as _quoted  # the C encoder of json.dumps
from typing import Any, NamedTuple

import numpy as np

from tritonclient_shim.backends.http.errors import AnotherReply
from tritonclient_shim.backends.names import path_part, percent_encoded
from tritonclient_shim.backends.replies import JsonFields, version_of
from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import ForeignError, UnreadableReply, Unsendable
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorIn,
    TensorOut,
)
from tritonclient_shim.core.reading import CUT_FROM, check_sizes, packed, remembered, shown

#: The largest body that Triton takes, in bytes. It reads all of a larger one, then refuses it.
LIMIT = 2**31 - 1

_REMEDY = "send it over gRPC, or to a server with the extension binary_tensor_data"


def json_request(call: InferCall, wire_id: str = "") -> bytes:
    """InferCall → its body, all of it JSON; Unsendable for data that JSON cannot carry.

    ``wire_id`` is the id of the request in place of the call's.
    """
    inputs = [
        {
            "name": tensor.name,
            "shape": tensor.shape,
            "datatype": tensor.datatype,
            "data": _values(tensor),
        }
        for tensor in call.inputs
    ]
    body: dict[str, Any] = {"inputs": inputs}
    request_id = wire_id or call.request_id
    if request_id:
        body["id"] = request_id
    if call.outputs:
        body["outputs"] = [{"name": output.name} for output in call.outputs]
    if call.sequence_id:
        body["parameters"] = {
            "sequence_id": call.sequence_id,
            "sequence_start": call.sequence_start,
            "sequence_end": call.sequence_end,
        }
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")


def _values(tensor: TensorIn) -> list[Any]:
    """Return the elements of a tensor, flat, as JSON has them."""
    data = b"".join(tensor.chunks)
    row = dtypes.BY_V2.get(tensor.datatype)
    if row is dtypes.STRING:
        try:
            elements = byte_strings.deserialize(data)
        except ValueError as error:
            raise Unsendable(f"HTTP client failed: input '{tensor.name}' is a {error}") from error
        return [_text(tensor.name, element) for element in elements]
    if row is None or row.numpy is None:
        raise _unsendable(tensor.name, f"data of type {tensor.datatype}", "of another type")
    values = np.frombuffer(data, row.numpy)
    if row.numpy.kind != "f":
        plain: list[Any] = values.tolist()
        return plain
    if np.isinf(values).any():
        raise _unsendable(tensor.name, "an infinity", "finite numbers")
    exact: list[Any] = values.astype(np.float64).tolist()
    if np.isnan(values).any():
        return [None if number != number else number for number in exact]
    return exact


def _text(name: str, element: bytes) -> str:
    try:
        return element.decode()
    except UnicodeDecodeError:
        raise _unsendable(name, f"the bytes {shown(element)}", "UTF-8 text") from None


def _unsendable(name: str, has: str, wanted: str) -> Unsendable:
    return Unsendable(
        f"HTTP client failed: input '{name}' has {has}, which cannot be sent as JSON, the only "
        f"form that this server takes over HTTP; expected {wanted}: {_REMEDY}"
    )


# --------------------------------------------------------------------------------- answers


def json_of(body: Buffer) -> Any:
    """Parse a body; ForeignError if it is no JSON, UnreadableReply if it is too deep or large."""
    try:
        return json.loads(bytes(body))
    except ValueError as error:
        raise ForeignError(f"not the answer of a v2 server: {error!r}") from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableReply(repr(error)) from error


def v2_object(answer: Any, name: str) -> JsonFields:
    """Return the answer, a JSON object with a member of this name; else raise ForeignError."""
    if type(answer) is not dict or name not in answer:
        raise ForeignError(f"not the answer of a v2 server: {shown(answer)}")
    return JsonFields(answer)


def tensor_data(name: str, datatype: str, values: list[Any]) -> bytes:
    """Tensor as a JSON array, flat or nested → its bytes, as the binary form has them.

    UnreadableReply for an element that is none of this data type.
    """
    row = dtypes.BY_V2.get(datatype)
    flat = _flat(values)
    if row is dtypes.STRING:
        _check(name, datatype, flat, (str,))
        return byte_strings.serialize([text.encode() for text in flat])
    if row is None or row.numpy is None:
        raise UnreadableReply(f"{shown(datatype)} has data in JSON", "binary data of this type")
    _check(name, datatype, flat, (bool,) if row.numpy.kind == "b" else (int, float))
    return packed(name, datatype, flat)


def _flat(values: list[Any]) -> list[Any]:
    while values and type(values[0]) is list:
        values = list(chain.from_iterable(values))
    return values


def _check(name: str, datatype: str, values: list[Any], allowed: tuple[type, ...]) -> None:
    """UnreadableReply if one of the values has another type."""
    if {*map(type, values)} <= {*allowed}:
        return
    odd = next(value for value in values if type(value) not in allowed)
    if odd is None:
        raise UnreadableReply(
            f"output {shown(name)} has null, by which servers without binary tensors tell a NaN, "
            "and an infinity too",
            f"numbers of type {datatype}, or the same request over gRPC, which carries both",
        )
    raise UnreadableReply(f"output {shown(name)} has the value {shown(odd)}", f"type {datatype}")


# The path of a model and the tensors' parts of a header do not change from one request of a context
# to the next. Without these three caches a small run takes 5 % more CPU.
@lru_cache(maxsize=1024)
def model_path(name: str, version: str) -> str:
    """Return the path of a model, of one version, or of all models ('').

    Unsendable for a name with steps in it.
    """
    model = f"/{path_part(name)}" if name else ""
    return f"/v2/models{model}" + (f"/versions/{path_part(version)}" if version else "")


def request_pieces(call: InferCall, wire_id: str = "") -> list[Buffer]:
    """InferCall → what its body consists of: the JSON header, then the bytes of the tensors.

    ``wire_id`` is the id of the request in place of the call's. Raise Unsendable above 2 GiB,
    before anything is copied or sent.
    """
    request_id = wire_id or call.request_id
    header = f'"id":{_quoted(request_id)},' if request_id else ""
    if call.sequence_id or call.priority or call.timeout_us or not call.outputs:
        header += _parameters(call)
    pieces: list[Buffer] = []
    inputs = []
    size = 0
    for tensor in call.inputs:
        inputs.append(
            _input(tensor.name, tensor.datatype, tensor.shape, tensor.byte_size, tensor.shm)
        )
        if tensor.shm is None:
            pieces += tensor.chunks
            size += tensor.byte_size
    header += f'"inputs":[{",".join(inputs)}]'
    if call.outputs:
        header += f',"outputs":[{",".join(map(_output, call.outputs))}]'
    content = f"{{{header}}}".encode("ascii")
    size += len(content)
    if size > LIMIT:
        raise Unsendable(
            f"HTTP client failed: the request has {size} bytes; Triton takes at most {LIMIT}. "
            "Send fewer or smaller tensors at one time, or use shared memory"
        )
    return [content, *pieces]


def _parameters(call: InferCall) -> str:
    """Return the parameters of a request that differ from the defaults, and a comma."""
    values: dict[str, Any] = {}
    if call.sequence_id:  # without an id the flags mean nothing (docs/v2-mapping.md §4)
        values["sequence_id"] = call.sequence_id
        values["sequence_start"] = call.sequence_start
        values["sequence_end"] = call.sequence_end
    if call.priority:
        values["priority"] = call.priority
    if call.timeout_us:
        values["timeout"] = call.timeout_us
    if not call.outputs:
        values["binary_data_output"] = True
    return f'"parameters":{json.dumps(values, separators=(",", ":"))},'


@lru_cache(maxsize=256)
def _input(
    name: str, datatype: str, shape: tuple[int, ...], byte_size: int, shm: ShmSlice | None
) -> str:
    where = _region(shm) if shm else f'"binary_data_size":{byte_size:d}'
    dims = ",".join(map(str, shape))
    return (
        f'{{"name":{_quoted(name)},"shape":[{dims}],"datatype":{_quoted(datatype)},'
        f'"parameters":{{{where}}}}}'
    )


@lru_cache(maxsize=256)
def _output(output: OutputSpec) -> str:
    where = _region(output.shm) if output.shm else '"binary_data":true'
    classes = f'"classification":{output.form.class_count:d},' if output.form.class_count else ""
    return f'{{"name":{_quoted(output.name)},"parameters":{{{classes}{where}}}}}'


def _region(shm: ShmSlice) -> str:
    offset = f',"shared_memory_offset":{shm.offset:d}' if shm.offset else ""
    name = _quoted(percent_encoded(shm.region))
    return f'"shared_memory_region":{name},"shared_memory_byte_size":{shm.byte_size:d}{offset}'


def parse_response(
    body: Buffer, header_length: str | None, wire_id: str = "", request_id: str = ""
) -> InferReply:
    """Body and ``Inference-Header-Content-Length`` → InferReply. Of a large body it has views.

    The reply must have the ``wire_id`` of the request, or no id. Replies that differ in it alone
    are parsed once. The InferReply has ``request_id``.

    AnotherReply for another id, ForeignError when this is not a v2 response, UnreadableReply when
    it is wrong, see :func:`~tritonclient_shim.core.reading.read`.
    """
    if len(body) >= CUT_FROM:
        body = memoryview(body)
    length = len(body)
    if header_length is not None:
        length = int(header_length) if header_length.isdigit() else length + 1
        if length > len(body):
            raise UnreadableReply(
                f"its JSON header should have {shown(header_length)} bytes",
                f"at most the {len(body)} sent",
            )
    content = bytes(body[:length])
    expected = b'{"id":"%b",' % wire_id.encode()  # as Triton begins a header
    if content.startswith(expected):
        content = b"{" + content[len(expected) :]
    header = _header(content)
    if header.request_id not in ("", wire_id):
        raise AnotherReply(
            f"it has the id {shown(header.request_id)}, so it is the answer to another request",
            f"the id {wire_id!r} of this request",
        )
    outputs = []
    position = length
    for tensor, size in header.tensors:
        if size is not None:
            data = body[position : position + size]
            tensor = TensorOut(tensor.name, tensor.datatype, tensor.shape, data)
            position += size
        outputs.append(tensor)
    if position != len(body):
        raise UnreadableReply(
            f"it has {len(body)} bytes", f"{shown(position)}, by the sizes of its outputs"
        )
    return InferReply(header.model_name, header.model_version, tuple(outputs), request_id)


class _Header(NamedTuple):
    """The JSON header of a response; each output with the size of its binary data in bytes."""

    model_name: str
    model_version: str
    request_id: str
    tensors: tuple[tuple[TensorOut, int | None], ...]


@remembered
def _header(content: bytes) -> _Header:
    header = v2_object(json_of(content), "model_name")
    names = header.text("model_name"), version_of(header, "model_version")
    tensors = tuple(map(_tensor, header.parts("outputs")))
    return _Header(*names, header.text("id", ""), tensors)


def _tensor(output: JsonFields) -> tuple[TensorOut, int | None]:
    name = output.text("name")
    datatype = output.text("datatype")
    parameters = output.part("parameters")
    shape = tuple(output.get("shape", list))
    if parameters.value.get("binary_data_size") is not None:
        size = parameters.number("binary_data_size")
        check_sizes(TensorOut(name, datatype, shape), size)
        return TensorOut(name, datatype, shape), size
    data = tensor_data(name, datatype, output.get("data", list)) if "data" in output.value else None
    tensor = TensorOut(name, datatype, shape, data)
    check_sizes(tensor, None if data is None else len(data))
    return tensor, None
