"""Replies that are like the one before: recognised by their bytes instead of being parsed.

The replies to equal calls have equal bytes but for the request id and the data. What comes
before and after the id is compared as a whole; only the lengths of the data are read.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from tritonclient_shim.backends.grpc.wire_records import read_varint, records
from tritonclient_shim.backends.reply_checks import data_size
from tritonclient_shim.core.forms import CallForm, ReplyForm
from tritonclient_shim.core.model import InferReply, TensorOut

#: Data from here on is handed over as a view on the reply, smaller data as a copy.
LARGE = 64 * 1024
#: A call whose replies keep changing their form is not worth looking at for ever.
MOST_LEARNED = 32

_ID = 0x1A  # field 3 of ModelInferResponse, length-delimited
RAW_OUTPUT = 0x32  # field 6, length-delimited


def recognised(form: CallForm, data: bytes, position: int = 0) -> InferReply | None:
    """Serialised ``ModelInferResponse`` from ``position`` on → the reply, None if it is another."""
    known = form.reply
    if known is None or not data.startswith(known.head, position):
        return None
    try:
        return _read(known, data, position + len(known.head))
    except (IndexError, UnicodeDecodeError, DecodeError):  # the parser says what is wrong
        return None


def _read(known: ReplyForm, data: bytes, position: int) -> InferReply | None:
    request_id = ""
    if data[position] == _ID:
        start = position + 2
        position = start + data[position + 1]
        request_id = data[start:position].decode()
        if position - start > 0x7F:
            return None
    if not data.startswith(known.tail, position):
        return None
    position += len(known.tail)
    outputs = []
    for name, datatype, shape, wanted in known.tensors:
        if data[position] != RAW_OUTPUT:
            return None
        size = data[position + 1]
        if size > 0x7F:
            size, start = read_varint(data, position + 1)
        else:
            start = position + 2
        if wanted is not None and size != wanted:
            return None
        position = start + size
        content = data[start:position] if size < LARGE else memoryview(data)[start:position]
        outputs.append(TensorOut(name, datatype, shape, content))
    if position != len(data):
        return None
    return InferReply(known.model_name, known.model_version, tuple(outputs), request_id, known)


def learn(form: CallForm, data: bytes, position: int, message: Any) -> ReplyForm | None:
    """Keep the form of a reply that has been parsed to ``message``; return it."""
    if form.learned >= MOST_LEARNED:
        return None
    form.learned += 1
    view = memoryview(data)[position:]
    before = after = 0  # where the request id is, or would be, and where it ends
    end = len(view)
    for tag, start, _, stop in records(view):
        if tag == RAW_OUTPUT:
            end = start
            break
        if tag < _ID and start == after:
            before = after = stop
        elif tag == _ID:
            if start != before:
                return None
            after = stop
    described = [(one.name, one.datatype, tuple(one.shape)) for one in message.outputs]
    tensors = tuple((*one, data_size(*one[1:])) for one in described)
    form.reply = ReplyForm(
        message.model_name,
        message.model_version,
        tensors,
        bytes(view[:before]),
        bytes(view[after:end]),
    )
    return form.reply
