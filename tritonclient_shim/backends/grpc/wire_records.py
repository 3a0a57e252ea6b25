"""Protobuf messages taken apart at their top level, without copying."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from tritonclient_shim.core.model import Buffer

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5

#: Tags of one byte of length-delimited fields, as almost all of KServe v2's are.
_COMMON = frozenset(range(8 | _LENGTH_DELIMITED, 0x80, 8))


def take(data: Buffer, *tags: int) -> tuple[bytes, tuple[list[Buffer], ...]]:
    """Serialised message → (the message without the records of some tags, their values by tag).

    The tags are those of length-delimited fields. The values are slices: views where ``data`` is
    one. Raises DecodeError for anything that protobuf would not parse at this level.
    """
    taken: dict[int, list[Buffer]] = {tag: [] for tag in tags}
    rest: list[Buffer] = []
    position, kept_from, size = 0, 0, len(data)
    while position < size:
        tag = data[position]
        if tag in _COMMON and position + 1 < size and data[position + 1] < 0x80:
            value = position + 2
            end = value + data[position + 1]
        else:
            tag, value, end = _extent(data, position)
        if end > size:
            raise DecodeError("a record of the message is cut short")
        if tag in taken:
            if kept_from < position:
                rest.append(data[kept_from:position])
            taken[tag].append(data[value:end])
            kept_from = end
        position = end
    if kept_from < size:
        rest.append(data[kept_from:])
    return b"".join(rest), tuple(taken.values())


def _extent(data: Buffer, position: int) -> tuple[int, int, int]:
    """The tag of the record at ``position``, where its value begins, and where it ends."""
    tag, position = read_varint(data, position)
    wire_type = tag & 7
    if tag < 8:
        raise DecodeError("a record of the message has no field number")
    if wire_type == _LENGTH_DELIMITED:
        length, position = read_varint(data, position)
        return tag, position, position + length
    if wire_type == _VARINT:
        return tag, position, read_varint(data, position)[1]
    if wire_type in (_FIXED64, _FIXED32):
        return tag, position, position + (8 if wire_type == _FIXED64 else 4)
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
