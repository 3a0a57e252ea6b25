"""Tritons that answer in part, or not as they should: each client gets v1's answer, or waits
alone.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE
from tests.gateway.gateway_process import Gateway, StartGateway
from tests.relays import Relay

pytest_plugins = ["tests.gateway.gateway_fixtures"]


def test_a_silent_server_keeps_only_its_own_clients_waiting(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """While no call of any kind gets an answer, clients that need none are answered."""
    with Relay(behind.grpc) as relay:
        relay.flows.clear()
        gateway = start_gateway("--triton-grpc", relay.address)
        paths = ("status", "health/live", "repository/index", "sharedmemorycontrol/status")
        with ThreadPoolExecutor(5) as pool:
            waiting = [pool.submit(gateway.get, f"/api/{path}") for path in paths]
            waiting.append(pool.submit(gateway.infer, "simple", SIMPLE, BODY))
            time.sleep(0.5)
            assert refused_at_once(gateway) == [400, 405]
            assert not any(one.done() for one in waiting)
            relay.flows.set()
            assert [one.result().code for one in waiting] == [200] * 5


def refused_at_once(gateway: Gateway) -> list[int]:
    """Return the answers to a path and a method that v1 did not have, each within ten seconds."""
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(gateway.get, path) for path in ("/api/nope", "/api/infer/simple")]
        return [one.result(10).code for one in asked]
