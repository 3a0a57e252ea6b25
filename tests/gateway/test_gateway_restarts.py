"""Gateways that are restarted lose no request of the clients of a load balancer."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.front_proxies import behind_envoy, behind_nginx
from tests.gateway.rolling_restarts import Clients, Pair, over_grpc, over_http

#: Rolling restarts, and the least number of requests. In full with GATEWAY_RESTARTS=10.
RESTARTS = int(os.environ.get("GATEWAY_RESTARTS", "1"))
REQUESTS = 10_000 * RESTARTS if RESTARTS > 1 else 2_000


@pytest.mark.release  # nginx and Envoy
@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("behind_proxy", [behind_nginx, behind_envoy])
def test_a_rolling_restart_loses_nothing(
    pair: Pair, tmp_path: Path, behind_proxy: Any, protocol: str
) -> None:
    """Every request is answered while both gateways behind a proxy restart in turns."""
    with behind_proxy(tmp_path, pair) as (http, grpc_address):
        make = partial(over_http, http) if protocol == "http" else partial(over_grpc, grpc_address)
        clients = Clients([make] * 8, REQUESTS)
        for _ in range(RESTARTS):
            pair.restart(0)
            pair.restart(1)
        clients.end()
    assert clients.lost == [] and clients.answered >= REQUESTS


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_kept_connections_lose_nothing(pair: Pair, protocol: str) -> None:
    """Clients that know both gateways lose no request on their kept connections."""
    addresses = [f"127.0.0.1:{port}" for port in getattr(pair, protocol)]
    maker = over_http if protocol == "http" else over_grpc
    makers = [partial(maker, *addresses), partial(maker, *addresses[::-1])] * 4
    clients = Clients(makers, 1000)
    pair.restart(0)
    pair.restart(1)
    clients.end()
    assert clients.lost == []
