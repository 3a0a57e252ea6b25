"""Effects of settings on real calls through unchanged legacy code (docs/settings.md)."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ServerHealthContext,
    ServerStatusContext,
)
from tests.grpc_listener import Listener
from tests.infer_cases import ONE, fp32, number
from tests.relays import Relay
from tritonclient_shim import configure, unwrap
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.model import GRPC, Endpoint

LATE = {
    0: "HTTP client failed: Timeout was reached",
    1: "GRPC client failed: 4: Deadline Exceeded",
}
ZEROS = np.zeros(250_000, np.float32)  # a million bytes


def live(url: str, protocol: int) -> bool:
    """Return the health of a server."""
    with ServerHealthContext(url, protocol) as context:
        return context.is_live()


@pytest.mark.smoke
def test_hard_coded_addresses(triton: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable leads a script's localhost:8000 and :8001 to another server."""
    # docs/v1-behaviour.md §1.5
    rules = f"localhost:8000={triton.http}, localhost:8001={triton.grpc}"
    monkeypatch.setenv("TRITON_SHIM_REWRITE_ADDRESSES", rules)
    for protocol, port in ((0, 8000), (1, 8001)):
        with ServerStatusContext(f"localhost:{port}", protocol) as context:
            assert context.get_server_status().id == "triton"


@pytest.mark.smoke
def test_network_timeout(url: str, protocol: int) -> None:
    """A call beyond its time limit fails with v1's texts, in either style; short calls work."""
    configure(network_timeout=1)
    with InferContext(url, protocol, "slow") as context:
        with pytest.raises(InferenceServerException) as caught:
            context.run(fp32(3), ONE)
        assert caught.value.message() == LATE[protocol]
        request = context.async_run(fp32(3), ONE)
        with pytest.raises(InferenceServerException) as caught:
            context.get_async_run_results(request, True)
        assert caught.value.message() == LATE[protocol]
    configure(network_timeout=60)
    assert live(url, protocol)


def test_stream_has_no_time_limit(triton: Any) -> None:
    """The time limit of calls does not end a stream. Its metadata are sent."""
    configure(network_timeout=1.5, grpc_metadata={"x": "y"})
    with InferContext(triton.grpc, 1, "slow", streaming=True) as context:
        assert number(context.run(fp32(2), ONE)) == 2


def test_timeout_is_of_the_unwrapped_client_too(url: str, protocol: int) -> None:
    """The client behind a context has the context's time limit."""
    configure(network_timeout=0.3)
    library = __import__(f"tritonclient.{('http', 'grpc')[protocol]}", fromlist=["x"])
    value = library.InferInput("INPUT0", [1], "FP32")
    value.set_data_from_numpy(np.array([1], np.float32))
    expected: Any = {0: OSError, 1: InferenceServerException}[protocol]
    late = pytest.raises(expected, match=("timed out", "Deadline Exceeded")[protocol])
    with ServerHealthContext(url, protocol) as context, late:
        unwrap(context).infer("slow", [value])


def test_contexts_keep_their_settings(url: str, protocol: int) -> None:
    """A context keeps the settings of the moment when it was made."""
    with ServerHealthContext(url, protocol) as early:
        configure(rewrite_addresses={"*": "127.0.0.1:1"})
        assert early.is_live()
        with pytest.raises(InferenceServerException, match="client failed"):
            live(url, protocol)


@pytest.mark.parametrize(("protocol", "tls"), [(0, "on"), (1, "off")])
def test_connect_timeout(protocol: int, tls: str) -> None:
    """A call to a server that accepts and never answers fails at its time limit."""
    configure(connect_timeout=0.4, tls=tls)
    texts = ["Timeout was reached", "14: Connect Failed"]
    expected = pytest.raises(InferenceServerException, match=texts[protocol])
    with socket.create_server(("127.0.0.1", 0)) as silent, expected as caught:
        live(f"127.0.0.1:{silent.getsockname()[1]}", protocol)
    assert str(caught.value).endswith(f"failed: {texts[protocol]}")


@pytest.mark.parametrize("arguments", ["", "grpc.default_compression_algorithm=2"])
def test_compression(triton: Any, arguments: str) -> None:
    """A channel argument compresses requests over gRPC; the results stay equal."""
    configure(grpc_channel_arguments=arguments)
    with Relay(triton.grpc) as relay, InferContext(relay.address, 1, "identity_fp32") as context:
        (result,) = context.run({"INPUT0": [ZEROS]}, ONE)["OUTPUT0"]
        assert np.array_equal(result, ZEROS)
        assert (relay.sent < 100_000) == bool(arguments)


def test_dns_target(triton: Any) -> None:
    """An address in gRPC's own form is accepted as a url."""
    assert live(f"dns:///{triton.grpc}", 1)


def test_round_robin() -> None:
    """Calls go to every address of the target in turn if set so, by default to one."""
    with Listener() as first, Listener() as other:
        target = f"ipv4:{first.address},{other.address}"
        with ServerHealthContext(target, 1) as context:
            assert all(context.is_live() for _ in range(8))
        assert sorted([len(first.calls), len(other.calls)]) == [0, 8]
        configure(grpc_channel_arguments="grpc.lb_policy_name=round_robin")
        with ServerHealthContext(target, 1) as context:
            assert all(context.is_live() for _ in range(20))
        assert min(len(first.calls), len(other.calls)) > 4


def test_grpc_metadata() -> None:
    """Every unary call and stream sends the metadata, also of the client behind the context."""
    configure(grpc_metadata={"X-User": "me"})
    with Listener() as server, ServerHealthContext(server.address, 1) as context:
        assert context.is_live()
        assert unwrap(context).is_server_live(headers={"x-user": "you"})
        backend: Any = open_backend(Endpoint(GRPC, server.address))
        backend.open_stream(lambda *_: None, lambda _: None).close()
        result = [metadata["x-user"] for metadata, _ in server.calls]
    assert result == ["me", "you", "me"]


def test_grpc_without_settings() -> None:
    """By default a call has neither a deadline nor added metadata."""
    # docs/v1-behaviour.md §10.4, §6.6
    with Listener() as server, ServerHealthContext(server.address, 1) as context:
        assert context.is_live()
        configure(network_timeout=50)
        assert live(server.address, 1)
        (plain, limited) = server.calls
    assert plain[1] is None or plain[1] > 1e6
    assert limited[1] is not None
    assert 40 < limited[1] < 52
    assert set(plain[0]) <= {"user-agent", "accept-encoding"}
