"""Fixtures of the equivalence suite: servers, gateways and observations."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import InferenceServerException, ModelControlContext, ProtocolType
from testbed import TritonServer  # noqa: E402
from tests.equivalence import sides
from tests.gateway.gateway_process import Gateway

Observe = Callable[[str, str], Any]


@pytest.fixture(scope="session")
def pair(oracle: Any, triton: TritonServer) -> Iterator[sides.Pair]:
    """Yield both sides of the server with every model."""
    yield from _pair(oracle, triton)


def _on_marked_server(oracle: Any, folder: Any, protocol: str, names: Any) -> Any:
    """Return the observations of both sides on a server that has tried ``spare`` and ``broken``.

    From then on its status lists both models, in every run. Triton itself sometimes ends while
    models are loaded and unloaded. Then start again with another server.
    """
    for attempt in range(3):
        where = folder / str(attempt)
        where.mkdir()
        with TritonServer.start(models=["simple"]) as server:
            _mark(server)
            with contextmanager(_pair)(oracle, server) as pair:
                result = pair.run(where, protocol, names)
            if server.running:
                break
    return result


def _mark(server: TritonServer) -> None:
    with ModelControlContext(server.http, ProtocolType.HTTP) as control:
        control.load("spare")
        control.unload("spare")
        with pytest.raises(InferenceServerException, match="failed to load 'broken'"):
            control.load("broken")


def _pair(oracle: Any, server: TritonServer) -> Iterator[sides.Pair]:
    back = ("--triton-grpc", server.grpc)
    gateway = Gateway(*back, "--server-id", "triton")
    yield sides.Pair(sides.genuine(oracle, gateway), sides.facade(server))
    gateway.stop()


@pytest.fixture(scope="session")
def observe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observe:
    """Return a function that returns the observations of both sides for a scenario.

    Its first call runs every selected scenario of the protocol.
    """
    selected = _selected(request.session.items)
    seen: dict[tuple[str, str], Any] = {}

    def look(scenario: str, protocol: str) -> Any:
        if (scenario, protocol) not in seen:
            names = [
                name
                for name, via in selected
                if via == protocol and _is_marking(name) == _is_marking(scenario)
            ]
            folder = tmp_path_factory.mktemp("seen")
            if _is_marking(scenario):
                oracle = request.getfixturevalue("oracle")
                result = _on_marked_server(oracle, folder, protocol, names)
            else:
                result = request.getfixturevalue("pair").run(folder, protocol, names)
            seen.update({(name, protocol): both for name, both in result.items()})
        return seen[scenario, protocol]

    return look


def _is_marking(scenario: str) -> bool:
    """True if the scenario loads and unloads models, and needs a server of its own."""
    return scenario.startswith("loading.")


def _selected(items: list[pytest.Item]) -> list[tuple[str, str]]:
    """Return the selected scenarios that run together, and their protocols."""
    parameters = [item.callspec.params for item in items if hasattr(item, "callspec")]
    return [
        (each["scenario"], each["via"])
        for each in parameters
        if not each.get("scenario", "undefined.").startswith("undefined.")
    ]
