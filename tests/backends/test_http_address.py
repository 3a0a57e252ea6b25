"""The fixed parts of a request, made from address and headers."""

from __future__ import annotations

import pytest

from tests.backends.scripted_server import ScriptedServer, http
from tritonclient_shim.backends.http import open_backend
from tritonclient_shim.backends.http.connections import usable_headers
from tritonclient_shim.core.model import Endpoint, InferCall


def test_headers_are_sorted_and_last_wins() -> None:
    """Headers are a map sorted by name; a later value replaces an earlier one."""
    # docs/v1-behaviour.md §6.6
    headers = [("b", "1"), ("X-A", "old"), ("A", "2"), ("X-A", "new:er"), ("B", "3")]
    assert list(usable_headers(headers).items()) == [("A", "2"), ("B", "3"), ("X-A", "new:er")]


def test_headers_left_out() -> None:
    """A header without value, or one that would break the message, is not sent."""
    # docs/v1-behaviour.md §6.6
    names = ("Content-Length", "transfer-encoding", "Inference-Header-Content-Length")
    assert usable_headers([("X-Empty", ""), *((name, "7") for name in names)]) == {}


@pytest.mark.parametrize(
    "header", [("", "v"), ("a b", "v"), ("a:", "v"), ("é", "v"), ("a", "x\r\nb: y"), ("a", "\0")]
)
def test_impossible_headers(header: tuple[str, str]) -> None:
    """Text that no HTTP message can carry is refused when the backend is opened."""
    with pytest.raises(ValueError, match="HTTP header"):
        open_backend(Endpoint("http", "127.0.0.1:1"), [header])


def test_headers_go_with_every_request() -> None:
    """The user's headers are in every request and replace the built-in ones."""
    # docs/v1-behaviour.md §6.6
    headers = [("X-Token", "sécret: 1"), ("host", "other"), ("Accept", "text/plain")]
    with ScriptedServer(lambda request: http(200, b'{"model_name": "m"}')) as server:
        backend = open_backend(Endpoint("http", f"user:pw@{server.address}/pre/"), headers)
        backend.live()
        backend.infer(InferCall("m", "2", (), ()))
        backend.load("m")
        backend.client().is_server_live()
        backend.close()
    paths = [request.split(b" ")[:2] for request in server.requests]
    assert paths == [
        [b"GET", b"/pre/v2/health/live"],
        [b"POST", b"/pre/v2/models/m/versions/2/infer"],
        [b"POST", b"/pre/v2/repository/models/m/load"],
        [b"GET", b"/pre/v2/health/live"],
    ]
    for request in server.requests:
        lines = request.partition(b"\r\n\r\n")[0].split(b"\r\n")
        assert "X-Token: sécret: 1".encode() in lines
        assert b"Authorization: Basic dXNlcjpwdw==" in lines
        assert [line for line in lines if line.lower().startswith(b"host:")] == [b"host: other"]
        assert [line for line in lines if line.startswith(b"Accept:")] == [b"Accept: text/plain"]
