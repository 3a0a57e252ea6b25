"""Settings and headers on the wire of HTTP: proxies, time limits, TLS."""

from __future__ import annotations

import socket
from typing import Any, Iterator

import numpy as np
import pytest
from tritonclient.http import InferInput

from tensorrtserver.api import InferContext, ProtocolType
from testbed import TritonServer
from tests.backends.conftest import REPLY
from tests.backends.scripted_server import SILENCE, Answer, ScriptedServer, http
from tests.infer_cases import BOTH, RAMP
from tritonclient_shim import unwrap
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.http.connections import usable_headers
from tritonclient_shim.core.errors import TransportError, TransportKind
from tritonclient_shim.core.model import Endpoint, InferCall, TensorIn
from tritonclient_shim.settings import DEFAULTS, configure

VALUE = np.arange(4, dtype=np.float32)
CALL = InferCall("m", "", (TensorIn("x", "FP32", (4,), (VALUE,), 16),), ())


def headers_of(request: bytes) -> dict[str, str]:
    """Return the headers of a request, by lower-case names; each may come once."""
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    pairs = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in lines)]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def test_headers(server: ScriptedServer) -> None:
    """Headers of the settings go with every request, also of the client behind a context.

    The context's own headers win, and those of a call of the client.
    """
    settings = configure(http_headers={"X-One": "1", "X-Two": "2", "Authorization": "ours"})
    backend = open_backend(Endpoint("http", server.address), [("X-Two", "mine")], settings)
    backend.infer(CALL)
    backend.client().is_server_live(headers={"authorization": "theirs"})
    for request, login in zip(server.requests, ("ours", "theirs")):
        sent = headers_of(request)
        assert (sent["x-one"], sent["x-two"], sent["authorization"]) == ("1", "mine", login)
    backend.close()


@pytest.mark.parametrize("name", ["Accept-Encoding", "Content-Encoding"])
@pytest.mark.parametrize("is_setting", [True, False], ids=["setting", "argument"])
def test_headers_of_codings(name: str, is_setting: bool, triton: TritonServer) -> None:
    """A program's headers about codings are not sent: v1's server did not look at them."""
    # docs/v2-mapping.md §9
    header = f"{name}: gzip"
    configure(http_headers=header if is_setting else None)
    arguments = [] if is_setting else [header]
    with InferContext(triton.http, ProtocolType.HTTP, "simple", http_headers=arguments) as context:
        results = context.run({"INPUT0": [RAMP], "INPUT1": [RAMP]}, BOTH)
    assert (results["OUTPUT0"][0] == RAMP + RAMP).all()


def test_codings_of_the_users_client(triton: TritonServer) -> None:
    """The client behind a context asks for compression, compresses, and reads the reply."""
    with InferContext(triton.http, ProtocolType.HTTP, "simple") as context:
        client = unwrap(context)
        tensors = [InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
        for tensor in tensors:
            tensor.set_data_from_numpy(RAMP.reshape(1, 16))
        result = client.infer(
            "simple",
            tensors,
            request_compression_algorithm="gzip",
            response_compression_algorithm="gzip",
        )
    assert (result.as_numpy("OUTPUT0") == RAMP + RAMP).all()


def test_proxy_of_the_environment(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS the proxy of http_proxy gets the whole url and the name of the server."""
    # docs/v1-behaviour.md §10.1
    monkeypatch.setenv("http_proxy", f"http://u:p@{server.address}")
    backend = open_backend(Endpoint("http", "triton.test:8000/pre"))
    assert backend.live()
    request = server.requests[-1]
    assert request.startswith(b"GET http://triton.test:8000/pre/v2/health/live HTTP/1.1\r\n")
    sent = headers_of(request)
    assert sent["host"] == "triton.test:8000"
    assert sent["proxy-authorization"] == "Basic dTpw"
    backend.infer(CALL)
    assert server.requests[-1].startswith(b"POST http://triton.test:8000/pre/v2/models/m/infer ")
    backend.close()

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    backend = open_backend(Endpoint("http", server.address))
    assert backend.live()
    assert server.requests[-1].startswith(b"GET /v2/health/live ")
    backend.close()


def test_proxy_that_refuses_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that does not connect to a server with TLS is a transport error."""
    with ScriptedServer(lambda _: http(407)) as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy.address}")
        backend = open_backend(Endpoint("http", "triton.test:443", True))
        with pytest.raises(TransportError, match="Failure when receiving data from the peer"):
            backend.live()
        assert proxy.requests[0].startswith(b"CONNECT triton.test:443 HTTP/1.1\r\n")
        backend.close()


@pytest.mark.parametrize(("binary", "kind"), [(True, b"octet-stream"), (False, b"json")])
def test_one_content_type(server: ScriptedServer, binary: bool, kind: bytes) -> None:
    """A request has one content type, in whatever form its tensors are."""
    backend = open_backend(Endpoint("http", server.address))
    backend.infer(CALL._replace(binary=binary))
    lines = server.requests[0].lower().split(b"\r\n")
    assert [line for line in lines if line.startswith(b"content-type")] == [
        b"content-type: application/" + kind
    ]
    backend.close()


def test_network_timeout_is_not_repeated() -> None:
    """A silent server gets one request and no second attempt. The error has v1's text."""
    answers: Iterator[Answer] = iter([REPLY, SILENCE, SILENCE])
    with ScriptedServer(lambda _: next(answers)) as server:
        settings = configure(network_timeout=1)
        backend = open_backend(Endpoint("http", server.address), (), settings)
        backend.infer(CALL)
        with pytest.raises(TransportError, match=": Timeout was reached$") as late:
            backend.live()
        assert late.value.kind is TransportKind.TIMEOUT
        assert len(server.requests) == 2
        backend.close()


def test_keepalive_of_the_socket(server: ScriptedServer) -> None:
    """The kernel probes idle connections if set so, and does not by default."""
    endpoint = Endpoint("http", server.address)
    names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    probed = configure(keepalive_time=30, keepalive_timeout=6)
    for settings, is_on in ((DEFAULTS, 0), (probed, 1)):
        backend: Any = open_backend(endpoint, (), settings)
        backend.live()
        (connection,) = backend._http.pool._idle
        peer = connection._socket
        assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == is_on
        values = [peer.getsockopt(socket.IPPROTO_TCP, name) for name in names]
        assert (values == [30, 2, 3]) is bool(is_on)
        backend.close()


# ------------------------------------------------------------------- the headers of contexts


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
