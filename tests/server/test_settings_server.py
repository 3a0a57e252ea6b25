"""What settings do to real calls, through unchanged legacy code (docs/settings.md)."""

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
from tests.relays import Relay
from tests.server.infer_cases import ONE, fp32, number
from tritonclient_shim import configure, unwrap
from tritonclient_shim.backends.grpc import open_backend
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.settings import current

LATE = {
    0: "HTTP client failed: Timeout was reached",
    1: "GRPC client failed: 4: Deadline Exceeded",
}
ZEROS = np.zeros(250_000, np.float32)  # a million bytes


def live(url: str, protocol: int) -> bool:
    """Ask for the health of a server."""
    with ServerHealthContext(url, protocol) as context:
        return context.is_live()


@pytest.mark.smoke
def test_hard_coded_addresses(triton: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script's localhost:8000 and :8001 lead to the server that a variable names."""
    # docs/v1-behaviour.md §1.5
    rules = f"localhost:8000={triton.http}, localhost:8001={triton.grpc}"
    monkeypatch.setenv("TRITON_SHIM_REWRITE_ADDRESSES", rules)
    for protocol, port in ((0, 8000), (1, 8001)):
        with ServerStatusContext(f"localhost:{port}", protocol) as context:
            assert context.get_server_status().id == "triton"


@pytest.mark.smoke
def test_network_timeout(url: str, protocol: int) -> None:
    """A call that lasts longer fails with v1's texts, in either style; short ones work."""
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
    """A stream may last: the time limit of calls is not its own, its metadata are."""
    configure(network_timeout=1.5, grpc_metadata={"x": "y"})
    with InferContext(triton.grpc, 1, "slow", streaming=True) as context:
        assert number(context.run(fp32(2), ONE)) == 2


def test_pipelined_calls(url: str, protocol: int) -> None:
    """Calls that are sent together, as for a server's status, work with metadata and limits."""
    configure(network_timeout=50, grpc_metadata={"x": "y"}, http_headers={"X": "y"})
    with ServerStatusContext(url, protocol) as context:
        assert "simple" in context.get_server_status().model_status


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
    """Settings are those of the moment when a context is made, also where it calls later."""
    with ServerHealthContext(url, protocol) as early:
        configure(rewrite_addresses={"*": "127.0.0.1:1"})
        assert early.is_live()
        with pytest.raises(InferenceServerException, match="client failed"):
            live(url, protocol)


@pytest.mark.parametrize(("protocol", "tls"), [(0, "on"), (1, "off")])
def test_connect_timeout(protocol: int, tls: str) -> None:
    """A server that accepts and says nothing: given up in time, not after minutes."""
    configure(connect_timeout=0.4, tls=tls)
    texts = ["Timeout was reached", "14: Connect Failed"]
    expected = pytest.raises(InferenceServerException, match=texts[protocol])
    with socket.create_server(("127.0.0.1", 0)) as silent, expected as caught:
        live(f"127.0.0.1:{silent.getsockname()[1]}", protocol)
    assert str(caught.value).endswith(f"failed: {texts[protocol]}")


@pytest.mark.parametrize("arguments", ["", "grpc.default_compression_algorithm=2"])
def test_compression(triton: Any, arguments: str) -> None:
    """A channel argument compresses requests over gRPC; the results are the same."""
    configure(grpc_channel_arguments=arguments)
    with Relay(triton.grpc) as relay, InferContext(relay.address, 1, "identity_fp32") as context:
        (result,) = context.run({"INPUT0": [ZEROS]}, ONE)["OUTPUT0"]
        assert np.array_equal(result, ZEROS)
        assert (relay.sent < 100_000) == bool(arguments)


def test_dns_target(triton: Any) -> None:
    """gRPC's own way to write an address is a url as well."""
    assert live(f"dns:///{triton.grpc}", 1)


def test_round_robin() -> None:
    """Calls go to every address of the target in turn; by default to one."""
    with Listener() as one, Listener() as other:
        target = f"ipv4:{one.address},{other.address}"
        with ServerHealthContext(target, 1) as context:
            assert all(context.is_live() for _ in range(8))
        assert sorted([len(one.calls), len(other.calls)]) == [0, 8]
        configure(grpc_channel_arguments="grpc.lb_policy_name=round_robin")
        with ServerHealthContext(target, 1) as context:
            assert all(context.is_live() for _ in range(20))
        assert min(len(one.calls), len(other.calls)) > 4


def plugin(request: Any) -> None:
    """Logs in."""
    request.headers["Authorization"] = "Bearer " + request.headers.get("x-user", "nobody")


def test_grpc_metadata_and_plugin() -> None:
    """Every unary call and stream carries them, the client behind the context as well."""
    configure(grpc_metadata={"X-User": "me"}, plugin=plugin)
    with Listener() as server, ServerHealthContext(server.address, 1) as context:
        assert context.is_live()
        assert unwrap(context).is_server_live(headers={"x-user": "you"})
        open_backend(Endpoint(GRPC, server.address), (), current()).open_stream(
            lambda *_: None, lambda _: None
        ).close()
        result = [metadata["authorization"] for metadata, _ in server.calls]
    assert result == ["Bearer me", "Bearer you", "Bearer me"]


def test_grpc_without_settings() -> None:
    """By default a call has neither a deadline nor metadata of ours."""
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


def test_basic_auth_of_tritonclient() -> None:
    """tritonclient's own plugin logs in over gRPC."""
    from tritonclient.grpc.auth import BasicAuth

    configure(plugin=BasicAuth("user", "word"))
    with Listener() as server:
        assert live(server.address, 1)
        assert server.calls[0][0]["authorization"] == "Basic dXNlcjp3b3Jk"
