"""Replies recognised by their form are read as if they had been parsed, on both protocols."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Callable

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.grpc import forms as grpc_forms
from tritonclient_shim.backends.grpc import framing as grpc_framing
from tritonclient_shim.backends.grpc.framing import NO_SHM, ShmUse
from tritonclient_shim.backends.http import framing as http_framing
from tritonclient_shim.core.errors import ForeignFault, UnreadableFault
from tritonclient_shim.core.forms import CallForm
from tritonclient_shim.core.model import InferReply

# few choices, so that replies often have the same form
NAMES = st.sampled_from(["a", "b"])
IDS = st.sampled_from(["", "7", "18446744073709551615", "x" * 200])
TENSORS = st.lists(
    st.tuples(NAMES, st.just("UINT8"), st.just((1, 2)), st.sampled_from([b"", b"12", bytes(300)])),
    max_size=2,
)
REPLIES = st.tuples(TENSORS, NAMES, st.sampled_from(["", "1"]), IDS)
FITTING = REPLIES.filter(lambda reply: all(len(data) == 2 for *_, data in reply[0]))


def message(tensors: Any, name: str, version: str, request_id: str) -> Any:
    made = service_pb2.ModelInferResponse(model_name=name, model_version=version, id=request_id)
    for tensor, datatype, shape, data in tensors:
        made.outputs.add(name=tensor, datatype=datatype, shape=shape)
        made.raw_output_contents.append(data)
    return made


def described(read: Callable[[], Any]) -> Any:
    """What reading comes to: the reply without its form, or the error."""
    try:
        reply = read()
    except (ForeignFault, DecodeError) as error:
        return str(error)
    if isinstance(reply, InferReply):
        outputs = [one._replace(data=bytes(one.data or b"")) for one in reply.outputs]
        return reply._replace(outputs=tuple(outputs), form=None)
    return described(lambda: reply[1]) if isinstance(reply, tuple) else str(reply)


@given(FITTING, REPLIES, st.integers(-3, 0))
def test_a_reply_after_another(first: Any, second: Any, cut: int) -> None:
    """Whatever came before, a reply is read as protobuf reads it, also when it is cut short."""
    form = CallForm()
    grpc_framing.decode_reply(message(*first).SerializeToString(), form=form)
    data = message(*second).SerializeToString()
    data = data[: len(data) + cut]
    assert described(lambda: grpc_framing.decode_reply(data, form=form)) == described(
        lambda: grpc_framing.decode_reply(data)
    )


@given(FITTING, REPLIES, st.booleans(), st.sampled_from(["", "no such model"]))
def test_a_streams_reply_after_another(first: Any, second: Any, shm: bool, error: str) -> None:
    """The same on a stream, for refusals and for outputs in shared memory too."""
    form = CallForm()
    use = ShmUse(frozenset({"a"}), frozenset({"region"})) if shm else NO_SHM
    outer = service_pb2.ModelStreamInferResponse(infer_response=message(*first))
    grpc_framing.decode_stream_reply(outer.SerializeToString(), lambda id: NO_SHM, form)
    outer = service_pb2.ModelStreamInferResponse(
        infer_response=message(*second), error_message=error
    )
    data = outer.SerializeToString()

    def read(form: CallForm) -> Any:
        id, reply = grpc_framing.decode_stream_reply(data, lambda id: use, form)
        if isinstance(reply, InferReply):
            seen = [one.data is None for one in reply.outputs]
            assert seen == [shm and one.name == "a" for one in reply.outputs]
            full = [one._replace(data=one.data or b"") for one in reply.outputs]
            reply = reply._replace(outputs=tuple(full))
        return id, reply

    assert described(lambda: read(form)) == described(lambda: read(CallForm()))


def test_equal_replies_share_a_form() -> None:
    """A reply with another id and other data of another size is recognised."""
    form = CallForm()
    one = message([("a", "BYTES", (1,), b"1234")], "m", "1", "1").SerializeToString()
    two = message([("a", "BYTES", (1,), bytes(70_000))], "m", "1", "23").SerializeToString()
    known = grpc_framing.decode_reply(one, form=form).form
    reply = grpc_framing.decode_reply(two, form=form)
    assert known is not None
    assert reply.form is known
    assert (reply.request_id, len(bytes(reply.outputs[0].data or b""))) == ("23", 70_000)


def test_replies_with_and_without_an_id_share_a_form() -> None:
    """Synchronous calls send no id, asynchronous ones do: their replies are of one form."""
    form = CallForm()
    known = None
    for request_id in ("", "7", "", "8"):
        data = message([("a", "UINT8", (2,), b"12")], "m", "1", request_id).SerializeToString()
        reply = grpc_framing.decode_reply(data, form=form)
        assert reply.request_id == request_id
        known = known or reply.form
        assert reply.form is known


def test_replies_that_keep_changing_are_learned_so_often_only() -> None:
    """A model whose every reply has another shape is not looked at for ever."""
    form = CallForm()
    for size in range(grpc_forms.MOST_LEARNED + 5):
        data = message([("a", "UINT8", (size,), bytes(size))], "m", "1", "")
        grpc_framing.decode_reply(data.SerializeToString(), form=form)
    assert form.learned == grpc_forms.MOST_LEARNED


def http_body(tensors: Any, name: str, version: str, request_id: str) -> tuple[bytes, str]:
    outputs = [
        {
            "name": tensor,
            "datatype": datatype,
            "shape": list(shape),
            "parameters": {"binary_data_size": len(data)},
        }
        for tensor, datatype, shape, data in tensors
    ]
    header: dict[str, Any] = {"model_name": name, "model_version": version, "outputs": outputs}
    if request_id:
        header["id"] = request_id
    head = json.dumps(header).encode()
    return head + b"".join(data for *_, data in tensors), str(len(head))


@given(FITTING, REPLIES)
def test_an_http_reply_after_another(first: Any, second: Any) -> None:
    """Whatever came before, a reply over HTTP is read as its own header says."""
    form = CallForm()
    http_framing.parse_response(*http_body(*first), form=form)
    body, length = http_body(*second)
    assert described(lambda: http_framing.parse_response(body, length, form)) == described(
        lambda: http_framing.parse_response(body, length)
    )


def test_an_http_reply_that_is_cut_short() -> None:
    """Data that end too early are an error, in a recognised reply as in any other."""
    form = CallForm()
    body, length = http_body([("a", "UINT8", (4,), b"1234")], "m", "1", "")
    assert http_framing.parse_response(body, length, form).form is form.reply
    with pytest.raises(UnreadableFault, match=r"it has \d+ bytes; expected \d+, by the sizes"):
        http_framing.parse_response(body[:-1], length, form)


@pytest.mark.parametrize("size", [0, 3, 300])
def test_a_known_reply_with_other_data(size: int) -> None:
    """Data of another size than the shape's are refused in a recognised reply as in any other."""
    form = CallForm()
    good = message([("a", "INT16", (1,), b"12")], "m", "1", "").SerializeToString()
    odd = message([("a", "INT16", (1,), bytes(size))], "m", "1", "").SerializeToString()
    grpc_framing.decode_reply(good, form=form)
    with pytest.raises(UnreadableFault, match=f"{size} bytes of data; expected 2 for INT16"):
        grpc_framing.decode_reply(odd, form=form)
    assert grpc_framing.decode_reply(good, form=form).form is form.reply


class ChangingForm(CallForm):
    """A form that other threads change all the time: every look finds another reply."""

    replies: Any

    def __init__(self, *replies: Any) -> None:
        object.__setattr__(self, "replies", replies)
        super().__init__()

    def __getattribute__(self, name: str) -> Any:
        if name != "reply":
            return super().__getattribute__(name)
        first, *others = self.replies
        self.replies = (*others, first)
        return first


def test_threads_that_share_a_form() -> None:
    """A reply is read by the form it was compared with, whatever other threads learn."""
    bodies = [
        http_body([("a", "UINT8", (size,), bytes([size]) * size)], "m", "1", "") for size in (2, 3)
    ]
    replies = [http_framing.parse_response(*body, form=CallForm()).form for body in bodies]
    for body in bodies:
        for known in (replies, replies[::-1]):
            reply = http_framing.parse_response(*body, form=ChangingForm(*known))
            assert described(partial(InferReply._replace, reply)) == described(
                partial(http_framing.parse_response, *body)
            )
