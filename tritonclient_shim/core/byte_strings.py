"""Byte strings ↔ their wire form: per element a little-endian uint32 length, then the bytes.

The wire form is the same in v1 (docs/v1-behaviour.md §3.6) and in KServe v2 (binary tensor data
extension).
"""

from __future__ import annotations

import struct
from typing import Sequence

import numpy as np

from tritonclient_shim.core.model import Buffer

_LENGTH = struct.Struct("<I")

#: After this many elements of one length, read further ones of that length together.
_RUN = 16
#: The most elements that are read together, so that a short run costs little.
_WINDOW = 1024


class _Prefixes(dict):  # type: ignore[type-arg]
    """Length → its four bytes; most tensors hold few different lengths."""

    def __missing__(self, length: int) -> bytes:
        prefix = self[length] = _LENGTH.pack(length)
        return prefix


def serialize(values: Sequence[bytes]) -> bytes:
    """Elements → wire form."""
    parts: list[bytes] = [b""] * (2 * len(values))
    parts[0::2] = map(_Prefixes().__getitem__, map(len, values))
    parts[1::2] = values
    return b"".join(parts)


def deserialize(data: Buffer) -> list[bytes]:
    """Wire form → the elements; ValueError when the lengths do not add up."""
    buffer = bytes(data)
    end = len(buffer)
    values: list[bytes] = []
    unpack = _LENGTH.unpack_from
    offset = 0
    last = -1
    repeated = 0
    while offset < end:
        if offset + 4 > end:
            raise ValueError(_broken(offset, end))
        length = unpack(buffer, offset)[0]
        repeated = repeated + 1 if length == last else 0
        if repeated == _RUN:
            run = _run(buffer, offset, length)
            values += run
            offset += len(run) * (4 + length)
            repeated = 0
            continue
        last = length
        start = offset + 4
        offset = start + length
        values.append(buffer[start:offset])
    if offset != end:
        raise ValueError(_broken(offset, end))
    return values


def _run(buffer: bytes, offset: int, length: int) -> list[bytes]:
    """Return the next elements, all of this length: at least one, at most _WINDOW."""
    step = 4 + length
    most = min(_WINDOW, max(1, (len(buffer) - offset) // step))
    if not length or most == 1:
        return [buffer[offset + 4 : offset + step]]
    lengths = np.ndarray((most,), "<u4", buffer, offset, (step,))
    other = np.flatnonzero(lengths != length)
    count = int(other[0]) if other.size else most
    elements: list[bytes] = np.ndarray((count,), f"V{length}", buffer, offset + 4, (step,)).tolist()
    return elements


def _broken(offset: int, end: int) -> str:
    return (
        f"malformed string tensor: an element reaches to byte {offset} of {end}; expected "
        "elements of 4 length bytes and that many bytes each"
    )


def wire_length(data: Buffer, count: int) -> int:
    """Wire form and anything after it → the number of bytes of its first ``count`` elements.

    ValueError when the buffer ends before them.
    """
    view = memoryview(data).cast("B")
    offset = 0
    for _ in range(count):
        if offset + 4 > len(view):
            raise ValueError(_broken(offset, len(view)))
        offset += 4 + _LENGTH.unpack_from(view, offset)[0]
    if offset > len(view):
        raise ValueError(_broken(offset, len(view)))
    return offset
