"""Fixtures shared by all tests: the real server and its addresses."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import InferContext
from testbed import KServeServer, MLServer, TritonServer
from tests import left_behind, lost_server
from tests.lost_server import watched
from tritonclient_shim import settings

# Failed assertions in the modules beside the tests show their values, too.
_FOLDERS = [path.name for path in Path(__file__).parent.iterdir() if path.is_dir()]
pytest.register_assert_rewrite(*(f"tests.{name}" for name in _FOLDERS))

# Reach the servers, and hosts that must not exist, without a proxy.
_DIRECTLY = "127.0.0.1,localhost,::1,.invalid"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), _DIRECTLY]))

# Before Python 3.10 subprocess forks, and grpcio's handler in the child starts threads that abort
# some of them before they become the program (docs/settings.md). grpcio's Python reads the
# variable when it is imported, the library below it when the first channel is made.
if sys.version_info < (3, 10):
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    import grpc

    grpc.insecure_channel("127.0.0.1:9").close()
    del os.environ["GRPC_ENABLE_FORK_SUPPORT"]  # programs that the tests start have the default


def _left_out(*_arguments: Any, **_options: Any) -> Any:
    pytest.skip("needs a server, and TESTBED_WITHOUT_SERVER is set")


# scripts/test sets it where no server can run; then tests that start a server are skipped.
if os.environ.get("TESTBED_WITHOUT_SERVER"):
    for kind in (TritonServer, MLServer, KServeServer):
        setattr(kind, "start", staticmethod(_left_out))  # noqa: B010  (mypy: a method)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins that watch the servers, and what the run leaves."""
    for plugin in (left_behind, lost_server):
        config.pluginmanager.register(plugin)


@pytest.fixture(autouse=True)
def default_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without settings, and without variables of the package or of proxies."""
    for name in list(os.environ):
        if name.startswith("TRITON_SHIM_") or name.lower() in _PROXIES:
            monkeypatch.delenv(name)
    monkeypatch.setattr(settings, "_configured", {})


StartTriton = Callable[..., TritonServer]
Connect = Callable[..., InferContext]


@pytest.fixture(scope="session")
def triton() -> Iterator[TritonServer]:
    """Yield a server with every standard model, for the whole run. Tests leave it unchanged."""
    with TritonServer.start() as server, watched(server):
        yield server


@pytest.fixture
def start_triton() -> Iterator[StartTriton]:
    """Return a function that starts throw-away servers with ``TritonServer.start``'s arguments."""
    started: list[TritonServer] = []

    def start(*args: Any, **kwargs: Any) -> TritonServer:
        started.append(TritonServer.start(*args, **kwargs))
        return started[-1]

    yield start
    for server in started:
        server.kill()


@pytest.fixture(params=[0, 1], ids=["HTTP", "GRPC"])
def protocol(request: pytest.FixtureRequest) -> int:
    """Return the values of ProtocolType.HTTP and ProtocolType.GRPC."""
    value: int = request.param
    return value


@pytest.fixture
def url(triton: TritonServer, protocol: int) -> str:
    """Return the address of the session's server for the protocol."""
    return triton.url(protocol)


@pytest.fixture(scope="session")
def oracle() -> Any:
    """Return the environment of NVIDIA's client. Create it if it does not exist."""
    from tests.gateway.oracle import NoOracle, prepare

    try:
        return prepare()
    except NoOracle as reason:
        pytest.skip(str(reason))


@pytest.fixture
def connect(url: str, protocol: int) -> Iterator[Connect]:
    """Open InferContexts on the session's server over the protocol; close them at teardown."""
    with contextlib.ExitStack() as opened:

        def connect(model: Any, *args: Any, **kwargs: Any) -> InferContext:
            return opened.enter_context(InferContext(url, protocol, model, *args, **kwargs))

        yield connect


@pytest.fixture
def stream(triton: TritonServer) -> Iterator[Connect]:
    """Open streaming InferContexts on the session's server; close them at teardown."""
    with contextlib.ExitStack() as opened:

        def stream(model: Any, correlation_id: Any = 0, **kwargs: Any) -> InferContext:
            context = InferContext(
                triton.grpc, 1, model, correlation_id=correlation_id, streaming=True, **kwargs
            )
            return opened.enter_context(context)

        yield stream


@pytest.fixture(params=["HTTP", "GRPC", "stream"])
def way(request: pytest.FixtureRequest) -> str:
    """Return the style of the requests."""
    name: str = request.param
    return name


@pytest.fixture
def open_context(triton: TritonServer, way: str) -> Iterator[Connect]:
    """Open contexts of this way on the session's server; close them at teardown."""
    protocol = int(way != "HTTP")
    with contextlib.ExitStack() as opened:

        def open_context(model: Any, **kwargs: Any) -> InferContext:
            kwargs["streaming"] = way == "stream"
            context = InferContext(triton.url(protocol), protocol, model, **kwargs)
            return opened.enter_context(context)

        yield open_context
