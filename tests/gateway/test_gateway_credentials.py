"""TLS on both sides of the gateway, credentials, and headers that go on."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from testbed import TritonServer
from tests.certificates import Authority
from tests.gateway.gateway_process import (
    PATIENCE,
    Answer,
    Client,
    Gateway,
    StartGateway,
    code_of,
    read_answer,
)
from tests.gateway.grpc_requests import BODY, SIMPLE, health, simple
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos.grpc_service_pb2_grpc import SERVICE

SECRET = "of-the-gateway"
SENT = {"authorization": "Bearer mine", "traceparent": "00-a-b-01", "x-own": "1", "x-other": "2"}
INFER = {"NV-InferRequest": SIMPLE}
#: Triton's method → v1's request over gRPC, and over HTTP.
CALLS: dict[str, tuple[Any, str, str]] = {
    "ModelInfer": (simple(), "POST", "/api/infer/simple"),
    "ServerReady": (health("ready"), "GET", "/api/health/ready"),
    "ModelStatistics": (pb.StatusRequest(model_name="simple"), "GET", "/api/status/simple"),
    "ModelConfig": (pb.StatusRequest(), "GET", "/api/status"),
    "RepositoryIndex": (pb.RepositoryRequest(index=True), "GET", "/api/repository/index"),
    "RepositoryModelLoad": (
        pb.ModelControlRequest(model_name="none", type=pb.ModelControlRequest.LOAD),
        "POST",
        "/api/modelcontrol/load/none",
    ),
    "CudaSharedMemoryStatus": (
        pb.SharedMemoryControlRequest(status={}),
        "GET",
        "/api/sharedmemorycontrol/status",
    ),
}


class RecordingProxy(grpc.GenericRpcHandler):
    """A gRPC proxy in front of Triton. ``seen`` has the metadata of each call, by its method."""

    def __init__(self, target: str, secure: Any = None) -> None:
        self.seen: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._channel = grpc.insecure_channel(target)
        self._server = grpc.server(ThreadPoolExecutor(8), handlers=[self])
        if secure is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", secure)
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def __enter__(self) -> RecordingProxy:
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.stop(None)
        self._channel.close()

    def service(self, handler_call_details: Any) -> Any:
        """Pass any call on as a stream of messages, because the bytes of both kinds are equal."""
        method = handler_call_details.method
        name = method.rpartition("/")[2]
        self.seen[name] = dict(handler_call_details.invocation_metadata)
        self.calls.append((name, self.seen[name]))
        ask = self._channel.stream_stream(method)
        return grpc.stream_stream_rpc_method_handler(lambda requests, _: ask(requests))


def ask(gateway: Gateway, wire: str, triton_method: str, sent: dict[str, str]) -> None:
    """Send the v1 call that makes the gateway call a method of Triton."""
    request, verb, path = CALLS[triton_method]
    if wire == "http":
        gateway.ask(verb, path, BODY if "infer" in path else None, {**INFER, **sent})
    else:
        gateway.call(type(request).__name__[: -len("Request")], request, sent)


@pytest.mark.parametrize("wire", ["http", "grpc"])
def test_headers_go_on(behind: TritonServer, start_gateway: StartGateway, wire: str) -> None:
    """Each call of any kind reaches Triton with its client's authorization and traceparent."""
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address)
        ask(gateway, wire, "ModelInfer", SENT)
        assert proxy.seen["ModelConfig"]["authorization"] == "Bearer mine"  # the inference needs it
        for method in CALLS:
            for sent in (SENT, {}):
                ask(gateway, wire, method, sent)
                seen = {name: proxy.seen[method].get(name) for name in SENT}
                assert seen == {**dict.fromkeys(SENT), **sent, "x-own": None, "x-other": None}


@pytest.mark.parametrize("wire", ["http", "grpc"])
@pytest.mark.parametrize("value", ["Bearer \xe9", "Bearer\tx"], ids=["not ASCII", "tabulator"])
def test_credentials_that_grpc_cannot_carry(
    behind: TritonServer, start_gateway: StartGateway, wire: str, value: str
) -> None:
    """A header that gRPC cannot carry is left out and not logged. The request is answered."""
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address)
        sent = {"authorization": value, "traceparent": "00-1"}
        if wire == "http":
            answer = gateway.ask("POST", "/api/infer/simple", BODY, {**INFER, **sent})
            assert answer.code == 200
        else:
            assert b"OUTPUT0" in raw_call(gateway.grpc, simple(), sent)
        assert proxy.seen["ModelInfer"]["traceparent"] == "00-1"
        assert "authorization" not in proxy.seen["ModelInfer"]
        gateway.terminate()
        gateway.process.wait(PATIENCE)
        log = gateway.log_text()  # gRPC 1.67 prints two lines at the end of a process
        assert "Bearer" not in log and "Traceback" not in log


def raw_call(address: str, request: Any, metadata: dict[str, str]) -> bytes:
    """Send a gRPC call with any bytes as metadata. Return what arrives until its status."""
    pairs = {":method": "POST", ":scheme": "http", ":path": f"/{SERVICE}/Infer"}
    pairs[":authority"] = address
    pairs.update({"content-type": "application/grpc", "te": "trailers"}, **metadata)
    fields = [text.encode("latin-1") for pair in pairs.items() for text in pair]
    texts = [bytes([len(field)]) + field for field in fields]
    head = b"".join(b"\0" + name + value for name, value in zip(texts[::2], texts[1::2]))
    message = request.SerializeToString()
    message = b"\0" + len(message).to_bytes(4, "big") + message
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
        client.sendall(frame(1, 4, 1, head) + frame(0, 1, 1, message))
        received = b""
        while b"grpc-status" not in received and (more := client.recv(65536)):
            received += more
    return received


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    """Return a frame of HTTP/2."""
    length = len(content).to_bytes(3, "big")
    return length + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


@pytest.mark.parametrize("wire", ["http", "grpc"])
def test_headers_of_a_question_for_labels(
    behind: TritonServer, start_gateway: StartGateway, wire: str
) -> None:
    """The question for the labels of classes has the client's authorization too."""
    request = pb.InferRequest(model_name="classify", model_version=-1)
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name="INPUT", dims=[10])
    request.meta_data.output.add(name="OUTPUT").cls.count = 3
    request.raw_input.append(np.arange(10, dtype=np.float32).tobytes())
    header = 'batch_size: 1 input { name: "INPUT" } output { name: "OUTPUT" cls { count: 3 } }'
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address)
        if wire == "grpc":
            response = gateway.call("Infer", request, SENT)
            result = response.meta_data.output[0].batch_classes[0].cls[0]
            assert result.label == "l9"
        else:
            sent = {"NV-InferRequest": header, **SENT}
            gateway.ask("POST", "/api/infer/classify", request.raw_input[0], sent)
        calls = [metadata for name, metadata in proxy.calls if name == "ModelInfer"]
        assert [metadata.get("authorization") for metadata in calls] == ["Bearer mine"] * 2


def test_chosen_metadata_of_a_stream(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Each stream, and each call for it, has its client's metadata of --forward-header."""
    with RecordingProxy(behind.grpc) as proxy:
        option = ("--forward-header", "authorization,traceparent,x-own")
        gateway = start_gateway("--triton-grpc", proxy.address, *option)
        with Client(gateway.grpc) as client:
            for sent in (SENT, {}):
                talk = client.talk(metadata=tuple(sent.items()))
                assert code_of(talk.ask(simple())[0].request_status) == "SUCCESS"
                talk.end()
                seen = {name: proxy.seen["ModelStreamInfer"].get(name) for name in SENT}
                assert seen == {**dict.fromkeys(SENT), **sent, "x-other": None}
                if sent:  # Triton 2.33 is asked again for the next stream
                    assert proxy.seen["ModelConfig"]["authorization"] == "Bearer mine"


def test_credentials_of_the_gateway(
    behind: TritonServer, start_gateway: StartGateway, surroundings: dict[str, str]
) -> None:
    """Metadata of the settings go with each call to Triton; a client's metadata replace them."""
    surroundings["TRITON_SHIM_GRPC_METADATA"] = f"authorization: Bearer {SECRET}"
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address, "--access-log", "json")
        gateway.call("Infer", simple())
        assert gateway.call("Health", health()).health
        for method in ("ModelInfer", "ServerLive", "ModelConfig"):
            assert proxy.seen[method]["authorization"] == f"Bearer {SECRET}"
        gateway.call("Infer", simple(), SENT)
        assert proxy.seen["ModelInfer"]["authorization"] == "Bearer mine"
        lines = gateway.log_lines(3)
    assert len(lines) == 3
    assert not any(SECRET in line or "mine" in line for line in lines)


def chain(identity: Any) -> tuple[bytes, bytes]:
    """Return the key and the certificate of an identity."""
    return Path(identity.key).read_bytes(), Path(identity.certificate).read_bytes()


def test_tls_to_triton(
    behind: TritonServer,
    start_gateway: StartGateway,
    authority: Authority,
    surroundings: dict[str, str],
) -> None:
    """The gateway shows the certificate of the settings to a Triton that demands it."""
    theirs, ours = authority.issue("localhost", "127.0.0.1"), authority.issue("gateway.example")
    roots = Path(authority.roots).read_bytes()
    secure = grpc.ssl_server_credentials([chain(theirs)], roots, True)
    with RecordingProxy(behind.grpc, secure) as proxy:
        address = ("--triton-grpc", f"grpcs://{proxy.address}")
        surroundings["TRITON_SHIM_ROOT_CERTIFICATES"] = authority.roots
        without = start_gateway(*address)
        assert code_of(without.call("Infer", simple()).request_status) == "UNAVAILABLE"
        surroundings["TRITON_SHIM_CLIENT_CERTIFICATE"] = ours.certificate
        surroundings["TRITON_SHIM_CLIENT_KEY"] = ours.key
        gateway = start_gateway(*address)
        assert code_of(gateway.call("Infer", simple()).request_status) == "SUCCESS"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority of all certificates: the gateway's, Triton's and the clients'."""
    return Authority(tmp_path_factory.mktemp("certificates"))


def over_https(address: str, roots: str, identity: Any = None) -> Answer:
    """Send one inference over HTTPS."""
    context = ssl.create_default_context(cafile=roots)
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    connection = HTTPSConnection(address, timeout=30, context=context)
    try:
        connection.request("POST", "/api/infer/simple", BODY, INFER)
        return read_answer(connection)
    finally:
        connection.close()


def over_grpcs(address: str, roots: str, identity: Any = None) -> str:
    """Return v1's code of an inference over gRPC with TLS, or gRPC's status code."""
    pair = chain(identity) if identity else ()
    credentials = grpc.ssl_channel_credentials(Path(roots).read_bytes(), *pair)
    with Client(address, credentials) as client:
        return client.code(simple())


def test_tls_of_clients(
    behind: TritonServer, start_gateway: StartGateway, authority: Authority
) -> None:
    """Both fronts serve TLS; with --tls-client-roots only clients with a certificate."""
    ours, client = authority.issue("127.0.0.1"), authority.issue("client.example")
    options = ["--triton-grpc", behind.grpc]
    options += ["--tls-certificate", ours.certificate, "--tls-key", ours.key]
    open_to_all = start_gateway(*options)
    assert over_https(open_to_all.http, authority.roots).code == 200
    assert over_grpcs(open_to_all.grpc, authority.roots) == "SUCCESS"
    guarded = start_gateway(*options, "--tls-client-roots", authority.roots)
    assert over_https(guarded.http, authority.roots, client).code == 200
    assert over_grpcs(guarded.grpc, authority.roots, client) == "SUCCESS"
    refusals = (ssl.SSLError, ConnectionError)
    with pytest.raises(refusals, match="(?i)certificate required|reset|EOF|closed|broken pipe"):
        over_https(guarded.http, authority.roots)
    assert over_grpcs(guarded.grpc, authority.roots) == "UNAVAILABLE"
    assert "Traceback" not in guarded.log_text()
