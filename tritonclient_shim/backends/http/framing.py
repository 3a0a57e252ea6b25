"""Inference requests and responses as HTTP bodies (KServe v2, binary tensor data extension).

A request body is a JSON header followed by the bytes of the tensors, in the pieces they came in;
the tensors of a response are views on the body received. No I/O here.
"""

from __future__ import annotations

from functools import lru_cache
from json.encoder import encode_basestring_ascii as _text  # the C encoder of json.dumps
from typing import Any, NamedTuple

from tritonclient_shim.backends.http.answers import (
    json_of,
    list_of,
    number,
    record_of,
    text,
    v2_object,
    version,
)
from tritonclient_shim.backends.http.json_tensors import tensor_data
from tritonclient_shim.backends.names import path_part, percent_encoded
from tritonclient_shim.backends.remembered import remembered
from tritonclient_shim.backends.reply_checks import check_sizes, checked
from tritonclient_shim.core.errors import UnreadableFault
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorOut,
)
from tritonclient_shim.core.reading import shown


def model_path(name: str, version: str) -> str:
    """Return the path of a model, or of one version; Unsendable for a name with steps in it."""
    versions = f"/versions/{path_part(version)}" if version else ""
    return f"/v2/models/{path_part(name)}{versions}"


def request_pieces(call: InferCall) -> list[Buffer]:
    """InferCall → what its body consists of: the JSON header, then the bytes of the tensors."""
    pieces: list[Buffer] = [request_header(call)]
    for tensor in call.inputs:
        if tensor.shm is None:
            pieces.extend(tensor.chunks)
    return pieces


def request_header(call: InferCall) -> bytes:
    """InferCall → its JSON header; only what differs from the defaults is named."""
    members = [f'"id":{_text(call.request_id)}'] if call.request_id else []
    parameters = _parameters(call)
    if parameters:
        members.append(f'"parameters":{{{parameters}}}')
    members.append(_tensors_wanted(call))
    return f"{{{','.join(members)}}}".encode("ascii")


def _tensors_wanted(call: InferCall) -> str:
    inputs = [
        _input(one.name, one.datatype, one.shape, one.byte_size, one.shm) for one in call.inputs
    ]
    head = f'"inputs":[{",".join(inputs)}]'
    if call.outputs:
        head += f',"outputs":[{",".join(map(_output, call.outputs))}]'
    return head


def _parameters(call: InferCall) -> str:
    items = []
    if call.sequence_id:  # without an id the flags mean nothing (docs/v2-mapping.md §4)
        items.append(f'"sequence_id":{call.sequence_id:d}')
        items.append(f'"sequence_start":{_truth(call.sequence_start)}')
        items.append(f'"sequence_end":{_truth(call.sequence_end)}')
    if call.priority:
        items.append(f'"priority":{call.priority:d}')
    if call.timeout_us:
        items.append(f'"timeout":{call.timeout_us:d}')
    if not call.outputs:
        items.append('"binary_data_output":true')
    return ",".join(items)


def _truth(flag: bool) -> str:
    return "true" if flag else "false"


@lru_cache(maxsize=256)
def _input(
    name: str, datatype: str, shape: tuple[int, ...], byte_size: int, shm: ShmSlice | None
) -> str:
    where = _region(shm) if shm else f'"binary_data_size":{byte_size:d}'
    dims = ",".join(map(str, shape))
    return (
        f'{{"name":{_text(name)},"shape":[{dims}],"datatype":{_text(datatype)},'
        f'"parameters":{{{where}}}}}'
    )


@lru_cache(maxsize=256)
def _output(output: OutputSpec) -> str:
    where = _region(output.shm) if output.shm else '"binary_data":true'
    classes = f'"classification":{output.class_count:d},' if output.class_count else ""
    return f'{{"name":{_text(output.name)},"parameters":{{{classes}{where}}}}}'


def _region(shm: ShmSlice) -> str:
    offset = f',"shared_memory_offset":{shm.offset:d}' if shm.offset else ""
    name = _text(percent_encoded(shm.region))
    return f'"shared_memory_region":{name},"shared_memory_byte_size":{shm.byte_size:d}{offset}'


def parse_response(body: Buffer, header_length: str | None) -> InferReply:
    """Body and ``Inference-Header-Content-Length`` → InferReply with views on the body.

    ForeignFault when this is not a v2 response, UnreadableFault when it is wrong, see
    :func:`~tritonclient_shim.core.reading.read`.
    """
    view = memoryview(body)
    length = len(view) if header_length is None else _length(header_length, len(view))
    content = bytes(view[:length])
    header = _header(content)
    outputs, position = [], length
    for tensor, size in header.tensors:
        if size is not None:
            data = view[position : position + size]
            tensor = TensorOut(tensor.name, tensor.datatype, tensor.shape, data)
            position += size
        outputs.append(tensor)
    if position != len(view):
        raise UnreadableFault(
            f"it has {len(view)} bytes", f"{shown(position)}, by the sizes of its outputs"
        )
    return InferReply(header.model_name, header.model_version, tuple(outputs), header.request_id)


def _length(announced: str, received: int) -> int:
    if not announced.isdigit() or int(announced) > received:
        raise UnreadableFault(
            f"its JSON header should have {shown(announced)} bytes", f"at most the {received} sent"
        )
    return int(announced)


class _Header(NamedTuple):
    """The JSON header of a response; each output with the size of its binary data in bytes."""

    model_name: str
    model_version: str
    request_id: str
    tensors: tuple[tuple[TensorOut, int | None], ...]


@remembered
def _header(content: bytes) -> _Header:
    header = v2_object(json_of(content), "model_name")
    names = text(header, "model_name"), version(header, "model_version")
    tensors = tuple(map(_tensor, list_of(header, "outputs", [])))
    return _Header(*names, text(header, "id", ""), tensors)


def _tensor(output: Any) -> tuple[TensorOut, int | None]:
    name, datatype = text(output, "name"), text(output, "datatype")
    parameters = record_of(output, "parameters", {})
    shape = tuple(list_of(output, "shape"))
    if parameters.get("binary_data_size") is not None:
        size = number(parameters, "binary_data_size")
        check_sizes(TensorOut(name, datatype, shape), size)
        return TensorOut(name, datatype, shape), size
    values = list_of(output, "data") if "data" in output else None
    data = None if values is None else tensor_data(name, datatype, values)
    return checked(TensorOut(name, datatype, shape, data)), None
