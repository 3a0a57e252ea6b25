"""InferenceServerException and ProtocolType (docs/v1-behaviour.md §1.6, §1.5)."""

from __future__ import annotations

import copy
import pickle
from enum import IntEnum
from typing import Any

import pytest

from tensorrtserver.api import InferenceServerException, ProtocolType


@pytest.mark.parametrize(
    ("arguments", "shown", "parts"),
    [
        ((None,), "None", (None, None, 0)),
        (("what",), "[ 0] what", ("what", "", 0)),
        (("no", "inference:0", 7, "404"), "[inference:0 7] no", ("no", "inference:0", 7)),
    ],
)
@pytest.mark.smoke
def test_parts(arguments: tuple[Any, ...], shown: str, parts: tuple[Any, ...]) -> None:
    """str is ``[<server id> <request id>] <message>``, and its parts are public and private."""
    # docs/v1-behaviour.md §1.6
    error = InferenceServerException(*arguments)
    assert str(error) == shown
    assert (error.message(), error.server_id(), error.request_id()) == parts
    assert (error._msg, error._server_id, error._request_id) == parts
    assert error.status() == (arguments[3] if len(arguments) > 3 else None)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
@pytest.mark.parametrize("arguments", [(None,), ("m",), ("m", "s", 3), ("m", "s", 3, "400", "d")])
def test_copies(again: Any, arguments: tuple[Any, ...]) -> None:
    """Errors can be copied and sent to another process; v1's could not."""
    # docs/v1-behaviour.md §1.6
    error = InferenceServerException(*arguments)
    twin = again(error)
    assert type(twin) is InferenceServerException
    assert str(twin) == str(error)
    assert (twin.message(), twin.server_id(), twin.request_id()) == (
        *(error.message(), error.server_id(), error.request_id()),
    )
    assert twin.status() == error.status()


@pytest.mark.smoke
def test_protocol_type() -> None:
    """ProtocolType is an IntEnum of two, equal to ints, with the same text on every Python."""
    # docs/v1-behaviour.md §1.5
    assert issubclass(ProtocolType, IntEnum)
    assert [(item.name, item.value) for item in ProtocolType] == [("HTTP", 0), ("GRPC", 1)]
    assert (str(ProtocolType.HTTP), str(ProtocolType.GRPC)) == (
        *("ProtocolType.HTTP", "ProtocolType.GRPC"),
    )
    assert list(ProtocolType) == [0, 1]
    assert ProtocolType(1) is ProtocolType.GRPC
    assert ProtocolType["GRPC"] == 1


@pytest.mark.parametrize(
    ("text", "protocol"),
    [("http", 0), ("HTTP", 0), ("HtTp", 0), ("grpc", 1), ("gRPC", 1), ("GRPC", 1)],
)
@pytest.mark.smoke
def test_from_str(text: str, protocol: int) -> None:
    """from_str ignores case (docs/v1-behaviour.md §1.5)."""
    assert ProtocolType.from_str(text) is ProtocolType(protocol)
