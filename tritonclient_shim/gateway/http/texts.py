"""Headers of successful answers in text format, which in pure Python takes long to write.

Answers of one kind differ in their numbers only, so the rest of each text is remembered.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tritonclient_shim.gateway.http.answers import LONGEST_HEADER, TEXT, body_of, one_line
from tritonclient_shim.gateway.options.releases import without_data_types
from tritonclient_shim.protos import api_pb2, request_status_pb2

#: The largest response header, in bytes, of which the texts are remembered.
_REMEMBERED = 4096


def success_text(status: Any) -> str:
    """The status of a success as the value of NV-Status."""
    return f"{_without_number(status.server_id)} request_id: {status.request_id}"


@lru_cache(maxsize=64)
def _without_number(server_id: str) -> str:
    success = request_status_pb2.SUCCESS
    return one_line(request_status_pb2.RequestStatus(code=success, server_id=server_id))


def response_texts(header: api_pb2.InferResponseHeader, data_types: bool) -> tuple[str, bytes]:
    """A response header as the value of NV-InferResponse, and as a body in text format.

    ``data_types``: with the field ``data_type`` (see ``options/releases.py``).
    """
    rest = api_pb2.InferResponseHeader()
    rest.CopyFrom(header)
    rest.ClearField("id")
    if not data_types:
        without_data_types(rest)
    content = rest.SerializeToString(deterministic=True)
    line, body = (_remembered if len(content) <= _REMEMBERED else _texts)(content)
    if not header.id:
        return line, body
    # the field of the id has the highest number
    return f"{line} id: {header.id}".lstrip(), b"%sid: %d\n" % (body, header.id)


def _texts(content: bytes) -> tuple[str, bytes]:
    header = api_pb2.InferResponseHeader.FromString(content)
    return _within_limit(header), body_of(header, TEXT)


_remembered = lru_cache(maxsize=256)(_texts)


def _within_limit(header: api_pb2.InferResponseHeader) -> str:
    """The value of NV-InferResponse; without its classes if it would be too long.

    Clients read the classes from the body.
    """
    text = one_line(header)
    if len(text) <= LONGEST_HEADER:
        return text
    short = api_pb2.InferResponseHeader()
    short.CopyFrom(header)
    for output in short.output:
        output.ClearField("batch_classes")
    return one_line(short)
