"""Transport errors and refusals over HTTP, from scripted servers."""

from __future__ import annotations

import json

import pytest

from tests.backends.scripted_server import CLOSE, CLOSE_AFTER, RESET, Answer, ScriptedServer, http
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.http.errors import CODES, refusal
from tritonclient_shim.core.errors import ForeignError, ServerError, TransportError
from tritonclient_shim.core.model import Endpoint, InferCall

CALL = InferCall("m", "", (), ())
URL_TEXT = "URL using bad/illegal format or missing URL"
RECEIVE_TEXT = "Failure when receiving data from the peer"
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("", URL_TEXT),
        ("ftp://127.0.0.1:1", "Unsupported protocol"),
        ("no.such.host.invalid:1", "Couldn't resolve host name"),
        ("ä" * 70 + ".invalid", "Couldn't resolve host name"),
        ("127.0.0.1:1", "Couldn't connect to server"),
    ],
)
def test_address(address: str, text: str) -> None:
    """Bad addresses fail at the first use, with libcurl's texts (docs/v1-behaviour.md §3.1)."""
    backend = open_backend(Endpoint("http", address))
    for call in (backend.live, backend.server_metadata, lambda: backend.infer(CALL)):
        with pytest.raises(TransportError) as caught:
            call()
        assert caught.value.message == f"HTTP client failed: {text}"
    backend.close()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (CLOSE, "Server returned nothing (no headers, no data)"),
        (RESET, RECEIVE_TEXT),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n" + CLOSE_AFTER, "Unsupported protocol"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + CLOSE_AFTER, "Unsupported protocol"),
        (b"HTTP/1.1 OK\r\n\r\n" + CLOSE_AFTER, "Unsupported protocol"),
        (HEAD + b"X: " + b"y" * 70000 + b"\r\n\r\n", "Unsupported protocol"),
        (HEAD + b"X: y\r\n" * 300 + b"\r\n", "Unsupported protocol"),
        (HEAD + b"Content-" + CLOSE_AFTER, "Transferred a partial file"),
        (HEAD + b"Content-Length: 9\r\n\r\nabc" + CLOSE_AFTER, "Transferred a partial file"),
        (HEAD + b"Content-Length: 99999\r\n\r\nab" + CLOSE_AFTER, "Transferred a partial file"),
    ],
)
def test_broken_answer(answer: Answer, text: str) -> None:
    """An incomplete HTTP reply has libcurl's text (docs/v1-behaviour.md §3.1, §A)."""
    with ScriptedServer(lambda request: answer) as server:
        backend = open_backend(Endpoint("http", server.address))
        for call in (backend.live, lambda: backend.infer(CALL)):
            with pytest.raises(TransportError) as caught:
                call()
            assert caught.value.message == f"HTTP client failed: {text}"
            assert caught.value.__cause__ is not None
        backend.close()


@pytest.mark.parametrize(
    "answer",
    [
        http(404, b"<html>not here</html>"),
        http(404),
        http(500, b'{"message": "other service"}'),
        http(500, b'{"error": {"code": 7}}'),
        http(500, b"[1]"),
        http(302, b"", "Location: http://127.0.0.1:1/"),
        http(200, b"<html>welcome</html>"),
        http(200, b"{}"),
        http(200, b"[]"),
        http(200, b""),
        http(200, b"\xff"),
        http(200, b"{}", "Inference-Header-Content-Length: many"),
        http(204),
    ],
)
def test_foreign_answer(answer: bytes) -> None:
    """A reply that no v2 server sends is a ForeignError, from every call."""
    # docs/v1-behaviour.md §4.7
    with ScriptedServer(lambda request: answer) as server:
        backend = open_backend(Endpoint("http", server.address))
        calls = (
            backend.server_metadata,
            lambda: backend.statistics("m"),
            lambda: backend.infer(CALL),
        )
        for call in calls:
            with pytest.raises(ForeignError):
                call()
        backend.close()


@pytest.mark.parametrize(("status", "code"), sorted(CODES.items()) + [(418, "UNKNOWN")])
def test_refusal(status: int, code: str) -> None:
    """A refusal has its status and text, without request ids."""
    # docs/v1-behaviour.md §E.10
    text = "[request id: 5] in ensemble 'e', [request id: <id_unknown>] no"
    error = refusal(status, json.dumps({"error": text}).encode())
    assert isinstance(error, ServerError)
    assert (error.message, error.code, error.status) == ("in ensemble 'e', no", code, str(status))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Request for unknown model: 'nope' is not found", "NOT_FOUND"),
        ("Request for unknown model: 'm' version 9 is not found", "NOT_FOUND"),
        ("Request for unknown model: 'm' has no available versions", "NOT_FOUND"),
        ("requested model 'm' is not available", "INVALID_ARGUMENT"),
    ],
)
def test_older_servers_say_400_of_unknown_models(text: str, code: str) -> None:
    """An unknown model is recognised by its text, because Triton 2.33 and 2.39 send only 400."""
    error = refusal(400, json.dumps({"error": text}).encode())
    assert isinstance(error, ServerError)
    assert (error.message, error.code, error.status) == (text, code, "400")
