"""Settings that cannot be used, and code of the user's that fails inside the gateway."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Iterator

import pytest

from testbed import TritonServer
from tests.gateway import gateway_process
from tests.gateway.bad_clients import BODY, SIMPLE
from tests.gateway.gateway_process import StartGateway, code_of
from tests.gateway.grpc_requests import simple
from tests.gateway.test_gateway_process import run_command
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.gateway.access_log import Meter
from tritonclient_shim.gateway.grpc.messages import read_request
from tritonclient_shim.gateway.options import GatewayOptions, ListenAddress
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.upstream import stream as stream_behind
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]

#: A plugin that fails at every request.
PLUGIN = """
class Broken:
    def __call__(self, request):
        raise ValueError("no token today")
"""


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of the gateways that a test starts; modules in ``tmp_path`` can be found."""
    environment = dict(gateway_process.SURROUNDINGS["env"])
    environment["PYTHONPATH"] += f":{tmp_path}"
    monkeypatch.setitem(gateway_process.SURROUNDINGS, "env", environment)
    yield environment


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("TLS", "bogus", "TRITON_SHIM_TLS is 'bogus'; expected one of: auto"),
        ("ROOT_CERTIFICATES", __file__, f"root certificates {__file__!r} cannot be used"),
        ("PLUGIN", "nowhere:factory", "The plugin 'nowhere:factory' cannot be made"),
    ],
)
def test_unusable_settings(
    surroundings: dict[str, str], variable: str, value: str, text: str
) -> None:
    """A gateway does not start with a setting that it cannot use: one line tells which."""
    surroundings[f"TRITON_SHIM_{variable}"] = value
    listen = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
    done = run_command("gateway", "--triton-grpc", "grpcs://127.0.0.1:9", *listen)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("tritonclient-shim gateway: cannot start: ") and text in line


def test_what_fails_inside_is_internal(
    surroundings: dict[str, str],
    tmp_path: Path,
    behind: TritonServer,
    start_gateway: StartGateway,
) -> None:
    """A plugin that fails: calls are answered INTERNAL at once, streams go on, the log tells."""
    (tmp_path / "broken_plugin.py").write_text(PLUGIN)
    surroundings["TRITON_SHIM_PLUGIN"] = "broken_plugin:Broken"
    gateway = start_gateway("--triton-grpc", behind.grpc)
    statuses = [
        gateway.infer("simple", SIMPLE, BODY).status,
        gateway.call("Infer", simple(1)).request_status,
        gateway.call("Status", pb.StatusRequest()).request_status,
        *(one.request_status for one in gateway.stream([simple(1), simple(2)])),
    ]
    assert [code_of(one) for one in statuses] == ["INTERNAL"] * 5
    told = {one.msg for one in statuses}
    assert told == {"the gateway failed: ValueError: no token today"}
    assert "ValueError: no token today" in gateway.said()


class SlowToOpen:
    """In the place of a backend: a stream takes as long to open as the test wants."""

    def __init__(self) -> None:
        self.begun, self.may_open, self.cancelled = (threading.Event() for _ in range(3))

    def known_server(self) -> KnownServer:
        server = KnownServer()
        server.fragile_streams = False
        return server

    def open_stream(self, on_reply: Any, on_end: Any, headers: Any = ()) -> Any:
        self.begun.set()
        assert self.may_open.wait(30)
        return self

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        pass


def test_a_stream_that_opens_too_late_is_dropped() -> None:
    """The v1 stream ends while the v2 stream is being opened: that one is not left open."""

    async def run() -> bool:
        nowhere = ListenAddress("127.0.0.1", 0)
        options = GatewayOptions(nowhere, nowhere, Endpoint("grpc", "127.0.0.1:9", False))
        upstream, backend = Upstream(options.triton_grpc, options, Stopping()), SlowToOpen()
        upstream._session._opened["backend"] = backend  # type: ignore[assignment]
        inference = Inferences(upstream, options, "grpc", Meter())
        behind = stream_behind.StreamBehind(upstream, inference, ())
        request = read_request(simple(1).SerializeToString())
        assert request is not None
        entry = stream_behind.Asked(upstream.infer.inference(request), request.size)
        sendable: Any = SimpleNamespace(call=None)
        sending = asyncio.ensure_future(behind._send(entry, sendable))
        while not backend.begun.is_set():
            assert not sending.done(), sending.result()
            await asyncio.sleep(0.01)
        sending.cancel()
        behind.cancel()
        backend.may_open.set()
        return await inference.on_thread(backend.cancelled.wait, 10)

    assert asyncio.run(run())
