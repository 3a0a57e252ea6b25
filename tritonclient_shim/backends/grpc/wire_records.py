"""Protobuf messages taken apart at their top level, without copying."""

from __future__ import annotations

from typing import Iterator

from google.protobuf.message import DecodeError

from tritonclient_shim.core.model import Buffer

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5


def take(data: Buffer, tag: int) -> tuple[bytes, list[memoryview]]:
    """Serialised message → (the message without its ``tag`` records, their values as views).

    ``tag`` is that of a length-delimited field. Raises DecodeError for anything that
    protobuf would not parse at this level.
    """
    view = memoryview(data)
    values: list[memoryview] = []
    rest: list[memoryview] = []
    for found, start, value, end in records(view):
        if found == tag:
            values.append(view[value:end])
        else:
            rest.append(view[start:end])
    return b"".join(rest), values


def records(view: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """(tag, start of the record, start of its value, end) of each top-level record.

    Raises DecodeError where a record is cut short.
    """
    position, size = 0, len(view)
    while position < size:
        start = position
        tag, position = read_varint(view, position)
        value, end = _extent(view, tag & 7, position)
        if end > size or tag < 8:
            raise DecodeError("a record of the message is cut short or has no field number")
        yield tag, start, value, end
        position = end


def _extent(view: memoryview, wire_type: int, position: int) -> tuple[int, int]:
    if wire_type == _LENGTH_DELIMITED:
        length, position = read_varint(view, position)
        return position, position + length
    if wire_type == _VARINT:
        return position, read_varint(view, position)[1]
    if wire_type in (_FIXED64, _FIXED32):
        return position, position + (8 if wire_type == _FIXED64 else 4)
    raise DecodeError(f"wire type {wire_type} does not occur in KServe v2 messages")


def read_varint(view: Buffer, position: int) -> tuple[int, int]:
    """Bytes and a place in them → (the base-128 number there, where it ends)."""
    value = shift = 0
    while shift < 70 and position < len(view):
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DecodeError("a number in the message does not end")
