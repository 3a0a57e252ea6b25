"""InferContext's constructor, and the arguments that it refuses (docs/v1-behaviour.md §3.1)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from testbed.process import free_ports
from tests.infer_cases import BOTH, add_sub, server_error
from tests.odd_servers import foreign_server


@pytest.mark.smoke
def test_signature() -> None:
    """The constructor and run have v1's parameter names, order and defaults."""
    # docs/v1-behaviour.md §2.1
    parameters = inspect.signature(InferContext).parameters
    assert {name: parameter.default for name, parameter in parameters.items()} == {
        "url": inspect.Parameter.empty,
        "protocol": inspect.Parameter.empty,
        "model_name": inspect.Parameter.empty,
        "model_version": None,
        "verbose": False,
        "correlation_id": 0,
        "streaming": False,
        "http_headers": [],
    }
    run = inspect.signature(InferContext.run).parameters
    assert list(run) == [
        *("self", "inputs", "outputs", "batch_size", "flags"),
        *("corr_id", "priority", "timeout_us"),
    ]
    assert [run[name].default for name in list(run)[3:]] == [1, 0, 0, 0, 0]


POSITIONALS: list[tuple[Any, ...]] = [
    (),
    (None,),
    (1, False),
    (-1, "", True),
    (None, 0, np.uint64(7)),
    (None, None, 0, False),
    (1, False, 0, False, ""),
    (1, False, 0, 0, []),
    (np.int64(1), False, np.int32(3), None, None),
]


@pytest.mark.smoke
def test_positional(connect: Any) -> None:
    """The constructor takes three to eight positional arguments of any value."""
    # docs/v1-behaviour.md §2.1, §F.2
    for arguments in POSITIONALS:
        assert set(connect("simple", *arguments).run(add_sub(), BOTH)) == set(BOTH)


HTTP_ONLY = "Streaming is only allowed with gRPC protocol"


@pytest.mark.smoke
def test_unknown_model(connect: Any) -> None:
    """An unknown model is a server error in the constructor (docs/v1-behaviour.md §3.1)."""
    with server_error("no status available for unknown model 'nope'"):
        connect("nope")


def test_server_that_refuses() -> None:
    """A server that is too busy to answer is not reported as a server without the model."""
    # docs/v1-behaviour.md §3.1
    refusal = foreign_server(503, b'{"error": "shutting down"}')
    with refusal as server, pytest.raises(InferenceServerException) as caught:
        InferContext(server.url, 0, "simple")
    assert caught.value.message() == "shutting down"
    assert caught.value.request_id() > 0


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.smoke
def test_server_down(protocol: int, streaming: bool) -> None:
    """If the server is down, each attempt is a client error, also with a stream."""
    # docs/v1-behaviour.md §3.1
    url = f"127.0.0.1:{free_ports()[0]}"
    texts = ["HTTP client failed: Couldn't connect to server", "GRPC client failed: 14: "]
    message = HTTP_ONLY if streaming and not protocol else texts[protocol]
    for _ in range(2):
        with pytest.raises(InferenceServerException) as caught:
            InferContext(url, protocol, "simple", streaming=streaming)
        assert str(caught.value).startswith(f"[ 0] {message}")
