"""Replies of servers, changed in structure: what a broken server or proxy might send."""

from __future__ import annotations

import copy
import json
import struct
from contextlib import suppress
from typing import Any, Iterator

from google.protobuf.descriptor import FieldDescriptor as Field
from hypothesis import strategies as st

from tests.backends.answering_servers import GRPC_ANSWERS, HTTP_ANSWERS, SCORES, Body, with_data
from tests.backends.scripted_server import http

_DEEP_LIST, _DEEP_OBJECT, _LONG_NUMBER, _RAW = "@list", "@object", "@number", "@raw"
_MARKS = {
    _DEEP_LIST: b"[" * 100_000 + b"]" * 100_000,
    _DEEP_OBJECT: b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    _LONG_NUMBER: b"9" * 5000,
    _RAW: b'"\xff\xfe"',
}

#: Values of a JSON member, correct for few members.
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 15, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 2**70),
    *(-(2**63), 1.5, float("nan"), float("inf")),
    *("", "x", "1", "-1", "1.5", "²", "9" * 30, "\ud800", "é" * 99),
    *([], {}, [1], ["1"], [[]], [-1], [2**62, 2**62], [0, 2**70], {"a": 1}, [None], [{}], [1.0]),
    *(_DEEP_LIST, _DEEP_OBJECT, _LONG_NUMBER, _RAW, "TYPE_FP8", "TYPE_STRING", "TYPE_INT8", "FP8"),
    *("BYTES", "BOOL", "INT64", "OUT", "LABELLED", "IN", "m", "READY", {"count": -1, "ns": "1"}),
]  # fmt: skip

_CLASSES = [
    *b" : :: 1 1: :1 1:1:1:1 1:-1 1:99999999999:x x:0 1:x nan:0 inf:1 1e999:0".split(b" "),
    *(b"1.0:1073741824:l", b"\xff:\xff:\xff", b"1:0:\xff", b" : : ", b"2.0:1:b", b"1.0:0:a"),
    *(b"9" * 5000 + b":0", b"1:" + b"0" * 5000, "1:²".encode()),
]


@st.composite
def bodies(draw: Any, kind: str) -> Body | bytes:
    """Return a changed reply over HTTP of this kind."""
    body, length = HTTP_ANSWERS[kind]
    size = len(body) if length is None else int(length)
    head, data = body[:size], body[size:]
    how = draw(st.sampled_from(["json", "json", "json", "bytes", "data", "length", "http"]))
    if how == "json" and head:
        head = json_text(changed(draw, json.loads(head)))
    elif how == "data" and length is not None:
        data = draw(tensors())
        if draw(st.booleans()):
            head = head.replace(b'_size": 8', b'_size": %d' % len(data))
            head = head.replace(b'_size": 32', b'_size": %d' % len(data))
    elif how == "length":
        return body, draw(
            st.sampled_from(["0", "1", "-1", "x", "²", "9" * 30, "", "1.0", str(size)])
        )
    elif how == "http":
        return bytes(draw(st.sampled_from(ODD_HTTP)))
    elif how == "bytes":
        return cut(draw, body), length
    return with_data(head, data) if length is not None else (head, None)


#: Complete replies that are odd HTTP.
ODD_HTTP = (
    [
        http(200, b"{}").replace(b"Content-Length: 2", b"Content-Length: " + length)
        for length in (b"-1", b"x", b"", b"3", b"\xb2", b"9" * 30, b"9" * 5000, b"1" + b"0" * 17)
    ]
    + [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        for chunks in (b"", b"-5\r\nhello", b"x\r\n", b"5\r\nhi", b"9" * 40 + b"\r\n", b"0\r\n\r\n")
    ]
    + [
        *(b"", b"\r\n\r\n", b"HTTP/1.1 200 OK", b"HTTP/9 200 OK\r\n\r\n", b"\xff" * 100),
        *(
            http(status, body)
            for status in (200, 204, 400, 500)
            for body in (b"", b"null", b"\xff", b"[]")
        ),
        http(400, b'{"error": "refused \\ud800"}'),
        http(400, b"[" * 100_000),
        http(400, b'{"error": ' + b"[" * 100_000),
        http(200, b"\x1f\x8bxx", "Content-Encoding: gzip"),
    ]
)


def tensors() -> st.SearchStrategy[bytes]:
    """Return bytes of tensors: too few, too many, and lists of strings right and wrong."""
    strings = st.lists(st.sampled_from(_CLASSES), max_size=4).map(
        lambda texts: b"".join(struct.pack("<I", len(text)) + text for text in texts)
    )
    wrong = st.sampled_from([b"", b"\0", b"\xff" * 8, struct.pack("<I", 2**31), SCORES.tobytes()])
    return strings | wrong | st.binary(max_size=40)


def json_text(answer: Any) -> bytes:
    """Return changed JSON as text. The marks become text that no JSON writer makes."""
    text = json.dumps(answer).encode()
    for mark, content in _MARKS.items():
        text = text.replace(json.dumps(mark).encode(), content, 1)
    return text


def changed(draw: Any, answer: Any) -> Any:
    """Return JSON with one to three members replaced, removed, doubled or wrapped."""
    answer = [copy.deepcopy(answer)]
    for _ in range(draw(st.integers(1, 3))):
        parent, key = draw(st.sampled_from(list(_places(answer))))
        how = draw(st.sampled_from(["odd", "odd", "odd", "remove", "double", "wrap", "name"]))
        if how == "odd" or parent is answer:
            parent[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
        elif how == "remove":
            del parent[key]
        elif how == "wrap":
            parent[key] = draw(st.sampled_from([[parent[key]], {"a": parent[key]}]))
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        else:
            parent[draw(st.sampled_from([*parent, "x"]))] = copy.deepcopy(parent[key])
    return answer[0]


def _places(answer: Any) -> Iterator[tuple[Any, Any]]:
    keys = answer if isinstance(answer, dict) else range(len(answer))
    for key in keys:
        yield answer, key
        if isinstance(answer[key], (dict, list)):
            yield from _places(answer[key])


def cut(draw: Any, content: bytes) -> bytes:
    """Return the bytes, shortened, lengthened or changed."""
    place = draw(st.integers(0, len(content)))
    how = draw(st.sampled_from(["cut", "insert", "change", "append"]))
    if how == "cut":
        return content[:place]
    extra: bytes = draw(st.binary(min_size=1, max_size=8))
    if how == "append":
        return content + extra
    return content[:place] + extra + content[place + (len(extra) if how == "change" else 0) :]


_ODD_INTS = [0, 1, -1, 2, 15, 99, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)]
_ODD_TEXTS = ["", "x", "m", "1", "-1", "²", "9" * 30, "FP8", "BYTES", "INT64", "OUT", "LABELLED"]


@st.composite
def messages(draw: Any, kind: str) -> bytes:
    """Return a changed reply over gRPC of this kind."""
    return message_bytes(draw, GRPC_ANSWERS[kind])


def message_bytes(draw: Any, message: Any) -> bytes:
    """Return a message as bytes, its fields or its bytes changed."""
    content: bytes = changed_message(draw, message).SerializeToString()
    how = draw(st.sampled_from(["fields", "fields", "bytes", "nested", "not UTF-8"]))
    if how == "bytes":
        content = cut(draw, content)
    elif how == "nested":
        for _ in range(300):
            content = _record(draw(st.just(1)), content)
    elif how == "not UTF-8":
        content += _record(draw(st.integers(1, 4)), b"\xff\xfe")
    return content


def _record(field: int, content: bytes) -> bytes:
    size, value = b"", len(content)
    while value > 0x7F:
        size, value = size + bytes([value & 0x7F | 0x80]), value >> 7
    return bytes([field << 3 | 2]) + size + bytes([value]) + content


def changed_message(draw: Any, message: Any) -> Any:
    """Return a copy with up to three fields cleared, added or set to odd values."""
    copied = type(message)()
    copied.CopyFrom(message)
    for _ in range(draw(st.integers(0, 3))):
        inner = draw(st.sampled_from(list(_messages_in(copied))))
        if not inner.DESCRIPTOR.fields:
            return copied
        _change_field(draw, inner, draw(st.sampled_from(list(inner.DESCRIPTOR.fields))))
    return copied


def _messages_in(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.type != Field.TYPE_MESSAGE:
            continue
        if field.message_type.GetOptions().map_entry:
            inner = [part for part in value.values() if hasattr(part, "ListFields")]
        else:
            inner = list(value) if hasattr(value, "add") else [value]
        for part in inner:
            yield from _messages_in(part)


def _change_field(draw: Any, message: Any, field: Any) -> None:
    value = getattr(message, field.name)
    if not draw(st.integers(0, 2)):
        message.ClearField(field.name)
    elif field.type == Field.TYPE_MESSAGE:
        if hasattr(value, "add"):
            value.add()
        elif hasattr(value, "SetInParent"):
            value.SetInParent()
    else:
        odd = _odd_value(draw, field)
        with suppress(ValueError, TypeError):  # a number that does not fit into the field
            if hasattr(value, "append"):
                value.append(odd)
            else:
                setattr(message, field.name, odd)


def _odd_value(draw: Any, field: Any) -> Any:
    if field.type == Field.TYPE_STRING:
        return draw(st.sampled_from(_ODD_TEXTS))
    if field.type == Field.TYPE_BYTES:
        return draw(tensors())
    if field.type == Field.TYPE_BOOL:
        return draw(st.booleans())
    return draw(st.sampled_from(_ODD_INTS))
