"""v1's HTTP endpoints, methods and statuses through the gateway (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import pytest

from tests.gateway.gateway_process import Gateway, code_of
from tritonclient_shim.protos import server_status_pb2

pytest_plugins = ["tests.gateway.gateway_fixtures"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v2/health/live"),
        ("GET", "/api"),
        ("GET", "/api/unknown"),
        ("GET", "/api/statusx"),
        ("GET", "/api/health"),
        ("GET", "/api/health/alive"),
        ("GET", "/api/modelrepository/index"),
        ("GET", "/api/repository"),
        ("POST", "/api/infer"),
        ("POST", "/api/infer/simple/latest"),
        ("POST", "/api/infer/simple/1/extra"),
        ("POST", "/api/modelcontrol/reload/simple"),
        ("POST", "/api/modelcontrol/load/"),
        ("POST", "/api/sharedmemorycontrol/register/r/key/0/64"),
        ("POST", "/api/sharedmemorycontrol/register/r//a/b/0/64"),
        ("POST", "/api/sharedmemorycontrol/cudaregister/r/64"),
        ("POST", "/api/sharedmemorycontrol/unregister/"),
        ("OPTIONS", "*"),
    ],
)
def test_bad_path(gateway: Gateway, method: str, path: str) -> None:
    """A path that is no endpoint: 400 without NV-Status (docs/v1-behaviour.md §9.1)."""
    answer = gateway.ask(method, path)
    assert (answer.code, answer.status, answer.body) == (400, None, b"")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/status"),
        ("POST", "/api/health/live"),
        ("GET", "/api/infer/simple"),
        ("PUT", "/api/infer/simple"),
        ("GET", "/api/modelcontrol/load/simple"),
        ("POST", "/api/repository/index"),
        ("POST", "/api/sharedmemorycontrol/status"),
        ("GET", "/api/sharedmemorycontrol/unregisterall"),
        ("GET", "/api/sharedmemorycontrol/register/r//k/0/64"),
    ],
)
def test_wrong_method(gateway: Gateway, method: str, path: str) -> None:
    """An endpoint asked with another method: 405 without NV-Status (docs/v1-behaviour.md §9.1)."""
    answer = gateway.ask(method, path)
    assert (answer.code, answer.status, answer.body) == (405, None, b"")


@pytest.mark.parametrize("mode", ["live", "ready"])
@pytest.mark.smoke
def test_health(gateway: Gateway, mode: str) -> None:
    """Health: 200 with NV-Status and an empty body, which clients would print."""
    # docs/v1-behaviour.md §6.1
    answer = gateway.get(f"/api/health/{mode}")
    assert (answer.code, answer.body) == (200, b"")
    assert (code_of(answer.status), answer.status.server_id) == ("SUCCESS", "inference:0")


@pytest.mark.smoke
def test_status_formats(gateway: Gateway) -> None:
    """Status of one model as protobuf, text and JSON with the fields' own names."""
    # docs/v1-behaviour.md §9.1
    binary = gateway.get("/api/status/simple?format=binary")
    status = server_status_pb2.ServerStatus.FromString(binary.body)
    assert binary.headers["Content-Type"] == "application/octet-stream"
    assert (status.id, list(status.model_status)) == ("inference:0", ["simple"])
    text = gateway.get("/api/status/simple")
    assert b'id: "inference:0"\n' in text.body and b"model_status {\n" in text.body
    assert gateway.get("/api/status/simple?format=text").body.startswith(b"id:")
    for json in (
        gateway.get("/api/status/simple?format=json"),
        gateway.get("/api/status/simple", Accept="application/json"),
    ):
        assert b'"ready_state": "SERVER_READY"' in json.body
        assert json.headers["Content-Type"].startswith("application/json")


def test_accept_header_is_exact(gateway: Gateway) -> None:
    """Accept asks for JSON only where it says just that, and no format is given."""
    # docs/v1-behaviour.md §9.1
    wide = gateway.get("/api/status/simple", Accept="application/json, */*")
    given = gateway.get("/api/status/simple?format=text", Accept="application/json")
    assert wide.body.startswith(b"id:") and given.body.startswith(b"id:")


@pytest.mark.parametrize("path", ["/api/status", "/api/status/"])
def test_status_of_all_models(gateway: Gateway, path: str) -> None:
    """Without a name, every tracked model is told (docs/v1-behaviour.md §6.2)."""
    status = server_status_pb2.ServerStatus.FromString(gateway.get(f"{path}?format=binary").body)
    assert {"simple", "classify"} <= set(status.model_status)


def test_unknown_model(gateway: Gateway) -> None:
    """Status: 400, INVALID_ARG, v1's text, and no body (docs/v1-behaviour.md §D)."""
    answer = gateway.get("/api/status/nope?format=binary")
    assert (answer.code, answer.body) == (400, b"")
    assert code_of(answer.status) == "INVALID_ARG"
    assert answer.status.msg == "no status available for unknown model 'nope'"


def test_names_are_not_decoded(gateway: Gateway) -> None:
    """v1's clients paste names raw, and the server takes them as they come."""
    # docs/v1-behaviour.md §9.1
    answer = gateway.get("/api/status/sim%70le")
    assert answer.status.msg == "no status available for unknown model 'sim%70le'"


def test_request_ids_grow(gateway: Gateway) -> None:
    """Every call takes the next request id, whichever kind it is (docs/v1-behaviour.md §4.5)."""
    paths = ("/api/health/live", "/api/status/simple", "/api/health/ready", "/api/status/nope")
    ids = [gateway.get(path).status.request_id for path in paths]
    assert ids == sorted(set(ids)) and ids[0] > 0


def test_repository_index(gateway: Gateway) -> None:
    """GET /api/repository/index, as protobuf and as text (docs/v1-behaviour.md §6.3)."""
    binary = gateway.get("/api/repository/index?format=binary")
    index = server_status_pb2.ModelRepositoryIndex.FromString(binary.body)
    names = [model.name for model in index.models]
    assert names == sorted(names) and {"simple", "spare"} <= set(names)
    assert b'models {\n  name: "simple"\n}\n' in gateway.get("/api/repository/index").body


def test_model_control(gateway: Gateway) -> None:
    """Load and unload answer with empty bodies; an unknown model fails as in v1."""
    # docs/v1-behaviour.md §6.4
    for action in ("load", "unload"):
        answer = gateway.post(f"/api/modelcontrol/{action}/spare")
        assert (answer.code, answer.body, code_of(answer.status)) == (200, b"", "SUCCESS")
    gateway.wait_until_unloaded("spare")
    unknown = gateway.post("/api/modelcontrol/load/nope")
    assert (unknown.code, code_of(unknown.status)) == (400, "INTERNAL")
    assert unknown.status.msg == "failed to load 'nope', no version is available"
    assert gateway.post("/api/modelcontrol/unload/never_heard_of").code == 200


def test_server_id_defaults_to_tritons(nameless_gateway: Gateway) -> None:
    """Without --server-id, clients see the id that Triton has."""
    assert nameless_gateway.get("/api/health/live").status.server_id == "triton"
