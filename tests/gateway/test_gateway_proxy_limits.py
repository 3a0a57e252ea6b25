"""More requests at a time than nginx or Envoy hands on, configured as in ``deploy/``."""

from __future__ import annotations

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, head
from tests.gateway.front_proxies import behind_envoy, behind_nginx
from tests.gateway.grpc_requests import seconds, slow
from tests.gateway.rolling_restarts import Pair
from tests.gateway.test_gateway_connections import Client
from tests.gateway.test_gateway_proxies import infer

pytestmark = pytest.mark.release  # nginx and Envoy

pytest_plugins = ["tests.gateway.gateway_fixtures"]

SLOW = 'batch_size: 1 input { name: "INPUT0" dims: 1 } output { name: "OUTPUT0" }'
CLIENTS, LIMIT = 40, 6


@pytest.fixture(scope="module")
def pair(behind: TritonServer) -> Iterator[Pair]:
    """Two gateways in front of one Triton."""
    both = Pair("--triton-grpc", behind.grpc)
    yield both
    both.stop()


def over_http(address: str, _: int) -> str:
    """The status of a request that takes a while."""
    return str(infer(address, "slow", SLOW, seconds(0.1)).code)


def over_grpc(address: str, _: int) -> str:
    """The same over gRPC."""
    with Client(address) as client:
        return client.infer(request=slow(1, 0.1))


@pytest.mark.parametrize("sent", [b"POST", head("Content-Length: 128") + BODY[:64]])
@pytest.mark.parametrize("behind_proxy", [behind_nginx, behind_envoy])
def test_idle_uploads_end_at_the_proxy(
    pair: Pair, tmp_path: Path, behind_proxy: Callable[..., Any], sent: bytes
) -> None:
    """A head or a body that stops is ended by the proxy after its time, other clients go on."""
    with behind_proxy(tmp_path, pair, client_time="1s") as (http, _):
        host, _, port = http.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(sent)
            assert infer(http, "simple", SIMPLE, BODY).code == 200
            answer = client.recv(65536)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("behind_proxy", [behind_nginx, behind_envoy])
def test_more_requests_than_the_proxy_hands_on(
    pair: Pair, tmp_path: Path, behind_proxy: Callable[..., Any]
) -> None:
    """nginx tells them 503, Envoy lets them wait; and no gateway is avoided afterwards."""
    with behind_proxy(tmp_path, pair, LIMIT) as (http, grpc), ThreadPoolExecutor(CLIENTS) as pool:
        told = Counter(pool.map(partial(over_http, http), range(CLIENTS)))
        told_grpc = Counter(pool.map(partial(over_grpc, grpc), range(CLIENTS)))
        after = {infer(http, "simple", SIMPLE, BODY).code for _ in range(8)}
        with Client(grpc) as client:
            after_grpc = {client.infer() for _ in range(8)}
    if behind_proxy is behind_envoy:
        assert (told, told_grpc) == ({"200": CLIENTS}, {"SUCCESS": CLIENTS})
    else:
        assert min(told["200"], told["503"]) > 0 and sum(told.values()) == told["200"] + told["503"]
        assert min(told_grpc["SUCCESS"], told_grpc["UNAVAILABLE"]) > 0
        assert "closed connection" not in (tmp_path / "error.log").read_text("utf-8")
    assert (after, after_grpc) == ({200}, {"SUCCESS"})
