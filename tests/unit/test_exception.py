"""InferenceServerException and ProtocolType (v1 §1.6, §1.5)."""

from __future__ import annotations

import copy
import pickle
import traceback
from enum import IntEnum
from typing import Any

import pytest
from tritonclient.utils import InferenceServerException as TritonException

from tensorrtserver.api import InferenceServerException, ProtocolType


def test_none() -> None:
    """v1 §1.6 ``ISE(None)``: str 'None', message and server id None, request id 0."""
    error = InferenceServerException(None)
    assert str(error) == "None"
    assert (error.message(), error.server_id(), error.request_id()) == (None, None, 0)


def test_text() -> None:
    """v1 §1.6: a facade may accept a str; it is an error of the client, prefix included."""
    error = InferenceServerException("what")
    assert str(error) == "[ 0] what"
    assert (error.message(), error.server_id(), error.request_id()) == ("what", "", 0)


def test_no_argument() -> None:
    """v1 §1.6: one positional argument is required."""
    with pytest.raises(TypeError):
        InferenceServerException()  # type: ignore[call-arg]


def test_server_error() -> None:
    """v1 §1.6 str: ``[<server id> <request id>] <message>``."""
    error = InferenceServerException("no", "inference:0", 7, "404")
    assert str(error) == "[inference:0 7] no"
    assert (error.message(), error.server_id(), error.request_id()) == ("no", "inference:0", 7)
    assert error.status() == "404"


def test_private_names() -> None:
    """v1 §1.6 private attributes: ``_msg``, ``_server_id``, ``_request_id``."""
    error = InferenceServerException("no", "inference:0", 7)
    assert (error._msg, error._server_id, error._request_id) == ("no", "inference:0", 7)


def test_family() -> None:
    """v1 §1.6: an Exception, and tritonclient's; shown as tensorrtserver.api's."""
    assert issubclass(InferenceServerException, TritonException)
    assert InferenceServerException.__module__ == "tensorrtserver.api"
    line = traceback.format_exception_only(InferenceServerException, InferenceServerException("x"))
    assert line == ["tensorrtserver.api.InferenceServerException: [ 0] x\n"]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
@pytest.mark.parametrize("arguments", [(None,), ("m",), ("m", "s", 3), ("m", "s", 3, "400", "d")])
def test_copies(again: Any, arguments: tuple[Any, ...]) -> None:
    """v1 §1.6: v1's could not be copied or sent to another process; these can."""
    error = InferenceServerException(*arguments)
    twin = again(error)
    assert type(twin) is InferenceServerException
    assert str(twin) == str(error)
    assert (twin.message(), twin.server_id(), twin.request_id()) == (
        *(error.message(), error.server_id(), error.request_id()),
    )
    assert twin.status() == error.status()


def test_protocol_type() -> None:
    """v1 §1.5: an IntEnum of two, equal to ints, shown by name on every Python."""
    assert issubclass(ProtocolType, IntEnum)
    assert [(one.name, one.value) for one in ProtocolType] == [("HTTP", 0), ("GRPC", 1)]
    assert (str(ProtocolType.HTTP), str(ProtocolType.GRPC)) == (
        *("ProtocolType.HTTP", "ProtocolType.GRPC"),
    )
    assert ProtocolType.HTTP == 0
    assert ProtocolType(1) is ProtocolType.GRPC
    assert ProtocolType["GRPC"] == 1


@pytest.mark.parametrize(
    ("text", "protocol"),
    [("http", 0), ("HTTP", 0), ("HtTp", 0), ("grpc", 1), ("gRPC", 1), ("GRPC", 1)],
)
def test_from_str(text: str, protocol: int) -> None:
    """v1 §1.5 from_str: in any case."""
    assert ProtocolType.from_str(text) is ProtocolType(protocol)


@pytest.mark.parametrize("text", ["", "http ", "https", "1"])
def test_from_other_str(text: str) -> None:
    """v1 §1.5 from_str: else a plain Exception."""
    with pytest.raises(Exception, match="unexpected protocol: ") as caught:
        ProtocolType.from_str(text)
    assert type(caught.value) is Exception
    assert str(caught.value) == f"unexpected protocol: {text}, expecting HTTP or gRPC"


@pytest.mark.parametrize("value", [None, 5])
def test_from_no_str(value: Any) -> None:
    """v1 §1.5 from_str(None): AttributeError."""
    with pytest.raises(AttributeError):
        ProtocolType.from_str(value)
