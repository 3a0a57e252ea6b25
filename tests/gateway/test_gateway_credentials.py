"""Who the gateway and its clients are: TLS on both sides, credentials, headers that go on."""

from __future__ import annotations

import ssl
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import grpc
import pytest

from testbed import TritonServer
from tests.certificates import Authority
from tests.gateway import gateway_process
from tests.gateway.bad_clients import BODY, SIMPLE
from tests.gateway.gateway_process import Answer, StartGateway, code_of, read_answer
from tests.gateway.grpc_requests import simple
from tests.gateway.recording_proxy import RecordingProxy
from tests.gateway.test_gateway_process import run_command
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

pytest_plugins = ["tests.gateway.gateway_fixtures"]

SECRET = "of-the-gateway"


def infer_with(address: str, metadata: dict[str, str], rpc: str = "Infer") -> Any:
    """One inference over gRPC with metadata → its response."""
    row = v1.RPCS[rpc]
    with grpc.insecure_channel(address) as channel:
        call = channel.stream_stream(
            f"/{v1.SERVICE}/{rpc}", row.request.SerializeToString, row.response.FromString
        )
        (response,) = call(iter([simple()]), timeout=30, metadata=tuple(metadata.items()))
    return response


SENT = {"authorization": "Bearer mine", "traceparent": "00-a-b-01", "x-own": "1", "x-other": "2"}


@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer"])
def test_metadata_goes_on(behind: TritonServer, start_gateway: StartGateway, rpc: str) -> None:
    """Authorization, traceparent and chosen metadata reach Triton, with each call its own."""
    with RecordingProxy(behind.grpc) as proxy:
        option = ("--forward-header", "authorization,traceparent,x-own")
        gateway = start_gateway("--triton-grpc", proxy.address, *option)
        method = "ModelInfer" if rpc == "Infer" else "ModelStreamInfer"
        assert code_of(infer_with(gateway.grpc, SENT, rpc).request_status) == "SUCCESS"
        found = {name: proxy.seen[method].get(name) for name in SENT}
        assert found == {**SENT, "x-other": None}
        infer_with(gateway.grpc, {}, rpc)
        assert not set(SENT) & set(proxy.seen[method])


def test_headers_go_on(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The same for a request over HTTP, to a Triton over gRPC; the defaults are the two known."""
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address)
        headers = {"NV-InferRequest": SIMPLE, **SENT}
        assert gateway.ask("POST", "/api/infer/simple", BODY, headers).code == 200
        found = {name for name in SENT if name in proxy.seen["ModelInfer"]}
        assert found == {"authorization", "traceparent"}


CALLS = {
    "ServerReady": (pb.HealthRequest(mode="ready"), "GET", "/api/health/ready"),
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


@pytest.mark.parametrize("wire", ["http", "grpc"])
def test_control_calls_hand_on_headers(
    behind: TritonServer, start_gateway: StartGateway, wire: str
) -> None:
    """Health, status, repository, loads and shared memory: with each call its client's headers."""
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address)
        for method, (request, verb, path) in CALLS.items():
            for sent in (SENT, {}):
                if wire == "http":
                    gateway.ask(verb, path, headers=sent)
                else:
                    gateway.call(type(request).__name__[: -len("Request")], request, sent)
                seen = {name: proxy.seen[method].get(name) for name in SENT}
                wanted = {**dict.fromkeys(SENT), **sent, "x-own": None, "x-other": None}
                assert seen == wanted, method


@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer"])
def test_questions_about_a_model_hand_on_headers(
    behind: TritonServer, start_gateway: StartGateway, rpc: str
) -> None:
    """What Triton is asked because of an inference has the headers of that inference."""
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address)
        infer_with(gateway.grpc, SENT, rpc)
        assert proxy.seen["ModelConfig"]["authorization"] == "Bearer mine"


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of the gateways that a test starts."""
    environment = dict(gateway_process.SURROUNDINGS["env"])
    monkeypatch.setitem(gateway_process.SURROUNDINGS, "env", environment)
    return environment


def test_credentials_of_the_gateway(
    behind: TritonServer, start_gateway: StartGateway, surroundings: dict[str, str]
) -> None:
    """Metadata of the settings go with each call to Triton; a client's own replace them."""
    surroundings["TRITON_SHIM_GRPC_METADATA"] = f"authorization: Bearer {SECRET}"
    with RecordingProxy(behind.grpc) as proxy:
        gateway = start_gateway("--triton-grpc", proxy.address, "--access-log", "json")
        gateway.call("Infer", simple())
        assert gateway.call("Health", pb.HealthRequest(mode="live")).health
        for method in ("ModelInfer", "ServerLive", "ModelConfig"):
            assert proxy.seen[method]["authorization"] == f"Bearer {SECRET}"
        infer_with(gateway.grpc, SENT)
        assert proxy.seen["ModelInfer"]["authorization"] == "Bearer mine"
        said = gateway.said()
    assert SECRET not in said and "mine" not in said and len(said.splitlines()) == 3


def test_tls_to_triton(
    behind: TritonServer,
    start_gateway: StartGateway,
    authority: Authority,
    surroundings: dict[str, str],
) -> None:
    """Triton behind TLS that wants a client's certificate: the settings name the files."""
    theirs, ours = authority.issue("localhost", "127.0.0.1"), authority.issue("gateway.example")
    chain = (Path(theirs.key).read_bytes(), Path(theirs.certificate).read_bytes())
    secure = grpc.ssl_server_credentials([chain], Path(authority.roots).read_bytes(), True)
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
    """Who has signed the certificates of the gateway, of Triton and of clients."""
    return Authority(tmp_path_factory.mktemp("certificates"))


def over_https(address: str, roots: str, identity: Any = None) -> Answer:
    """One inference over HTTPS."""
    context = ssl.create_default_context(cafile=roots)
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    connection = HTTPSConnection(address, timeout=30, context=context)
    try:
        connection.request("POST", "/api/infer/simple", BODY, {"NV-InferRequest": SIMPLE})
        return read_answer(connection)
    finally:
        connection.close()


def over_grpcs(address: str, roots: str, identity: Any = None) -> str:
    """The code of one inference over gRPC with TLS, or the status of gRPC."""
    pair = (
        [Path(one).read_bytes() for one in (identity.key, identity.certificate)] if identity else []
    )
    made = grpc.ssl_channel_credentials(Path(roots).read_bytes(), *pair)
    row = v1.RPCS["Infer"]
    with grpc.secure_channel(address, made) as channel:
        call = channel.unary_unary(
            f"/{v1.SERVICE}/Infer", row.request.SerializeToString, row.response.FromString
        )
        try:
            return code_of(call(simple(), timeout=30).request_status)
        except grpc.RpcError as error:
            return str(error.code().name)


def test_tls_of_clients(
    behind: TritonServer, start_gateway: StartGateway, authority: Authority
) -> None:
    """TLS on both fronts; with --tls-client-roots only clients with a certificate are served."""
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
    assert "Traceback" not in guarded.said()


def test_unusable_files() -> None:
    """Files that are no certificates are named by a line at the start."""
    options = ["--triton-grpc", "127.0.0.1:9"]
    options += ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]
    done = run_command("gateway", *options, "--tls-certificate", __file__, "--tls-key", __file__)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"--tls-certificate {__file__} with --tls-key {__file__} cannot be used: " in line
