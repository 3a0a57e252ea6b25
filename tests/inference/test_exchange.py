"""Outcomes of an exchange: what is read again, sent again, and asked."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tritonclient_shim.core.errors import InferenceServerException, ServerError
from tritonclient_shim.core.model import (
    InferReply,
    ShmSlice,
    TensorOut,
    V1Input,
    V1Output,
    V1Request,
)
from tritonclient_shim.servers.base import ModelProfile, TensorSpec
from tritonclient_shim.servers.open_servers import OpenServer
from tritonclient_shim.servers.triton import TRITON
from tritonclient_shim.service import MessageExchange
from tritonclient_shim.session.models import KnownModel

TENSORS = {name: TensorSpec(name, "INT32", (4,)) for name in ("X", "Y")}
DATA = bytes(32)
#: Eight values in one row, for a request of two batch entries.
ONE_ROW = InferReply("m", "1", (TensorOut("Y", "INT32", (8,), DATA),))
ARRAYS = V1Input("X", (4,), (DATA,), 32)
REGION = V1Input("X", (4,), (), 32, ShmSlice("region", 32))


def profile(batch: int) -> ModelProfile:
    """Return a model with this maximum batch size."""
    return ModelProfile("m", batch, {"X": TENSORS["X"]}, {"Y": TENSORS["Y"]}, dialect=TRITON)


class Fixture:
    """A prepared exchange, with records of what is asked and sent."""

    def __init__(self, tensor: V1Input, now: ModelProfile, correlation_id: int = 0) -> None:
        self.asked: list[str] = []
        self.sent: list[Any] = []
        self._now = now
        model = KnownModel("m")
        model.profile = profile(8)
        model._ask_anew = self._ask  # type: ignore[method-assign]
        self._model = model
        session: Any = SimpleNamespace(
            backend=SimpleNamespace(
                user=None, known_server=lambda: SimpleNamespace(labels={}, region_sizes={})
            ),
            endpoint=SimpleNamespace(protocol="grpc"),
            to_v1_error=lambda error, *_: InferenceServerException(str(error)),
        )
        request = V1Request(-1, 2, (tensor,), (V1Output("Y"),), correlation_id=correlation_id)
        self.exchange = MessageExchange(session, model, -1, 1, 0)
        self.exchange.request_of = lambda _: request
        self.exchange.prepare()

    def _ask(self, backend: Any) -> ModelProfile:
        self.asked.append("configuration")
        self._model.profile = self._now
        return self._now

    def send(self, call: Any) -> InferReply:
        """Answer as the model does."""
        self.sent.append(call)
        return ONE_ROW


def test_an_answered_request_is_not_sent_again() -> None:
    """A reply that does not fit is read by the new configuration, and the model does not run."""
    fixture = Fixture(ARRAYS, profile(0))
    fixture.exchange.outcome = ONE_ROW
    reply = fixture.exchange.read_reply(fixture.send)
    assert [result.dims for result in reply.outputs] == [(8,)]
    assert (fixture.asked, fixture.sent) == (["configuration"], [])


def test_a_reply_that_never_fits() -> None:
    """A reply that does not fit an unchanged model is an error, and the model does not run."""
    fixture = Fixture(ARRAYS, profile(8))
    fixture.exchange.outcome = ONE_ROW
    with pytest.raises(InferenceServerException, match=r"has shape \[8\]"):
        fixture.exchange.read_reply(fixture.send)
    assert (fixture.asked, fixture.sent) == (["configuration"], [])


def test_a_misunderstood_sequence_is_an_error() -> None:
    """The reply of a server that knows no sequences is no result: its data are wrong."""
    now = replace(profile(8), dialect=OpenServer("other 1.0"))
    fixture = Fixture(ARRAYS, now, correlation_id=7)
    output = TensorOut("Y", "INT32", (2, 4), DATA)
    fixture.exchange.outcome = InferReply("m", "", (output,))
    with pytest.raises(InferenceServerException, match="sequence"):
        fixture.exchange.read_reply(fixture.send)
    assert (fixture.asked, fixture.sent) == (["configuration"], [])


def test_a_prompt_reader_asks_nothing() -> None:
    """A reply that may have to ask is not read promptly, for the sake of an event loop."""
    fixture = Fixture(ARRAYS, profile(0))
    fixture.exchange.outcome = ONE_ROW
    assert fixture.exchange.read_promptly() is None
    assert fixture.asked == []
    fixture.exchange.outcome = InferReply("m", "1", (TensorOut("Y", "INT32", (2, 4), DATA),))
    reply = fixture.exchange.read_promptly()
    assert reply is not None and [result.dims for result in reply.outputs] == [(4,)]


@pytest.mark.parametrize("tensor", [ARRAYS, REGION], ids=["arrays", "region"])
def test_asynchronous_requests_are_never_sent_again(tensor: V1Input) -> None:
    """A refused asynchronous request is not sent again, also if its data are in a region."""
    fixture = Fixture(tensor, profile(4))
    fixture.exchange.drop_inputs()
    fixture.exchange.outcome = ServerError("unexpected shape", "INVALID_ARGUMENT")
    with pytest.raises(InferenceServerException, match="unexpected shape"):
        fixture.exchange.read_reply(fixture.send)
    assert (fixture.asked, fixture.sent) == (["configuration"], [])
