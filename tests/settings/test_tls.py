"""TLS with real certificates: ``tritonserver`` over gRPC, its HTTP port behind terminators."""

from __future__ import annotations

import shutil
import ssl
import threading
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ServerHealthContext,
    ServerStatusContext,
)
from testbed import TritonServer
from testbed.process import free_ports
from tests.certificates import Authority, Identity
from tests.infer_cases import BOTH, END, PATIENCE, SUM, add_sub, int32, number
from tests.relays import Relay
from tritonclient_shim import configure, unwrap

REFUSED = {
    0: "HTTP client failed: SSL peer certificate or SSH remote key was not OK",
    1: "GRPC client failed: 14: Connect Failed",
}
MODELS = ["simple", "sequence_sum"]
Url = Callable[[int], str]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority of the servers' and the clients' certificates."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority that has signed no certificate here."""
    return Authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture(scope="module")
def client(authority: Authority) -> Identity:
    """Return a client's certificate."""
    return authority.issue("client.test")


def server_context(identity: Identity, clients: str = "") -> ssl.SSLContext:
    """Return the server side of TLS. ``clients`` are the roots for required client certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*identity)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


def grpc_options(identity: Identity, *more: str) -> list[str]:
    """Return ``tritonserver`` flags for TLS on its gRPC port."""
    certificate, key = identity
    files = [f"--grpc-server-cert={certificate}", f"--grpc-server-key={key}"]
    return ["--grpc-use-ssl=1", *files, *more]


@pytest.fixture(scope="module")
def secure(authority: Authority) -> Iterator[Url]:
    """Yield the addresses of a server with a certificate."""
    identity = authority.issue("127.0.0.1", "localhost")
    with TritonServer.start(MODELS, extra_args=grpc_options(identity)) as server, Relay(
        server.http, server_context(identity)
    ) as http:
        yield [http.address, server.grpc].__getitem__


@pytest.fixture(scope="module")
def mutual(authority: Authority) -> Iterator[Url]:
    """Yield the addresses of a server that also requires a client's certificate."""
    identity = authority.issue("127.0.0.1")
    demand = ["--grpc-use-ssl-mutual=1", f"--grpc-root-cert={authority.roots}"]
    with TritonServer.start(MODELS, extra_args=grpc_options(identity, *demand)) as server, Relay(
        server.http, server_context(identity, authority.roots)
    ) as http:
        yield [http.address, server.grpc].__getitem__


@pytest.fixture(scope="module")
def misnamed(authority: Authority) -> Iterator[Url]:
    """Yield the addresses of a server whose certificate has another name."""
    identity = authority.issue("elsewhere.test")
    with TritonServer.start(MODELS, extra_args=grpc_options(identity)) as server, Relay(
        server.http, server_context(identity)
    ) as http:
        yield [http.address, server.grpc].__getitem__


def live(url: str, protocol: int) -> bool:
    """Return the health of a server."""
    with ServerHealthContext(url, protocol) as context:
        return context.is_live()


def refusal(url: str, protocol: int) -> str:
    """Return the error of a health request."""
    with pytest.raises(InferenceServerException) as caught:
        live(url, protocol)
    return str(caught.value.message())


@pytest.mark.smoke
def test_inference(secure: Url, protocol: int, authority: Authority) -> None:
    """With the authority's roots every kind of call works with an https:// url."""
    configure(root_certificates=authority.roots)
    url = f"https://{secure(protocol)}"
    with InferContext(url, protocol, "simple") as context:
        assert context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM
        request = context.async_run(add_sub(), BOTH)
        assert context.get_async_run_results(request, True)["OUTPUT0"][0].tolist() == SUM
    with ServerStatusContext(url, protocol, "simple") as status:
        assert status.get_server_status().id == "triton"


def test_hard_coded_address(
    secure: Url, protocol: int, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables lead a script with a plain localhost url to another server with TLS."""
    monkeypatch.setenv("TRITON_SHIM_ROOT_CERTIFICATES", authority.roots)
    monkeypatch.setenv("TRITON_SHIM_REWRITE_ADDRESSES", f"localhost:800*={secure(protocol)}")
    monkeypatch.setenv("TRITON_SHIM_TLS", "on")
    assert live(f"localhost:800{protocol}", protocol)


def test_sequence_on_a_stream(secure: Url, authority: Authority) -> None:
    """A sequence runs over a streaming context with TLS."""
    configure(root_certificates=authority.roots, tls="on")
    sums: list[float] = []
    done = threading.Semaphore(0)
    with InferContext(secure(1), 1, "sequence_sum", correlation_id=77, streaming=True) as context:

        def received(ctx: InferContext, request: int) -> None:
            sums.append(number(ctx.get_async_run_results(request, True), "OUTPUT"))
            done.release()

        for index, flags in enumerate([1, 0, END]):
            context.async_run(received, int32(index + 1), {"OUTPUT": (1,)}, 1, flags)
            assert done.acquire(timeout=PATIENCE)
    assert sums == [1, 3, 6]


def test_unknown_authority(secure: Url, protocol: int, stranger: Authority) -> None:
    """Certificates of an unknown authority are refused with v1's texts."""
    # docs/v1-behaviour.md §3.1
    assert refusal(f"https://{secure(protocol)}", protocol) == REFUSED[protocol]
    configure(root_certificates=stranger.roots)
    assert refusal(f"https://{secure(protocol)}", protocol) == REFUSED[protocol]


def test_other_name(misnamed: Url, protocol: int, authority: Authority) -> None:
    """A known authority's certificate for another host is refused."""
    configure(root_certificates=authority.roots, tls="on")
    assert refusal(misnamed(protocol), protocol) == REFUSED[protocol]


def test_other_name_on_purpose(misnamed: Url, authority: Authority) -> None:
    """A channel argument tells gRPC which name to expect."""
    name = "grpc.ssl_target_name_override=elsewhere.test"
    configure(root_certificates=authority.roots, tls="on", grpc_channel_arguments=name)
    assert live(misnamed(1), 1)


def test_tls_without_server(protocol: int) -> None:
    """A refused connection with TLS has v1's text."""
    configure(tls="on")
    port = free_ports()[0]
    texts = ["HTTP client failed: Couldn't connect to server", REFUSED[1]]
    assert refusal(f"127.0.0.1:{port}", protocol) == texts[protocol]


def test_client_certificate(
    mutual: Url, protocol: int, authority: Authority, client: Identity
) -> None:
    """A server that requires a client's certificate refuses a client without one."""
    configure(root_certificates=authority.roots, tls="on")
    assert "client failed: " in refusal(mutual(protocol), protocol)
    configure(client_certificate=client.certificate, client_key=client.key)
    assert live(mutual(protocol), protocol)


def test_changed_file(
    secure: Url, protocol: int, authority: Authority, stranger: Authority, tmp_path: Path
) -> None:
    """Connections depend on the content of certificate files: the next context uses a new file."""
    roots = tmp_path / "roots.pem"
    shutil.copy(authority.roots, roots)
    configure(root_certificates=roots, tls="on")
    url = secure(protocol)
    with ServerHealthContext(url, protocol) as before:
        assert before.is_live()
        shutil.copy(stranger.roots, roots)
        assert refusal(url, protocol) == REFUSED[protocol]
        assert before.is_live()
        shutil.copy(authority.roots, roots)
        assert live(url, protocol)


def test_unusable_files(
    secure: Url, protocol: int, authority: Authority, client: Identity, tmp_path: Path
) -> None:
    """An error names files that are no certificates or do not fit each other."""
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("no certificate")
    configure(tls="on", root_certificates=garbage)
    with pytest.raises(ValueError, match=f"root certificates '{garbage}' cannot be used"):
        live(secure(protocol), protocol)
    other = authority.issue("other.test")
    configure(root_certificates=None, client_certificate=client.certificate, client_key=other.key)
    with pytest.raises(ValueError, match="with key .*other.test.key' cannot be used"):
        live(secure(protocol), protocol)


def test_encrypted_key_asks_nobody(
    secure: Url, protocol: int, client: Identity, tmp_path: Path
) -> None:
    """An encrypted key is refused without a password prompt."""
    from cryptography.hazmat.primitives import serialization as forms

    key: Any = forms.load_pem_private_key(Path(client.key).read_bytes(), None)
    locked = tmp_path / "locked.key"
    encryption = forms.BestAvailableEncryption(b"word")
    pem = forms.PrivateFormat.PKCS8
    locked.write_bytes(key.private_bytes(forms.Encoding.PEM, pem, encryption))
    configure(tls="on", client_certificate=client.certificate, client_key=locked)
    with pytest.raises(ValueError, match="keys unencrypted"):
        live(secure(protocol), protocol)


def test_unwrapped_client(secure: Url, protocol: int, authority: Authority) -> None:
    """The client of a context uses the context's TLS."""
    configure(root_certificates=authority.roots, tls="on")
    with ServerHealthContext(secure(protocol), protocol) as context:
        assert unwrap(context).is_model_ready("simple")


def test_through_a_proxy(
    secure: Url, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, TLS goes through a proxy's tunnel (docs/v1-behaviour.md §10.1)."""
    with Relay("", is_proxy=True) as proxy:
        configure(root_certificates=authority.roots, tls="on")
        monkeypatch.setenv("https_proxy", f"http://me@{proxy.address}")
        assert live(secure(0), 0)
        assert live(secure(0), 0)
    (target, _) = proxy.asked
    assert target.startswith(b"CONNECT " + secure(0).encode() + b" HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic bWU=\r\n" in target
