"""NVIDIA's own client reaches scikit-learn through the gateway (docs/servers.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed import KServeServer, MLServer
from tests.gateway.gateway_process import SURROUNDINGS, Gateway, StartGateway
from tests.gateway.grpc_requests import simple
from tests.gateway.oracle import OracleEnvironment
from tritonclient_shim.protos import request_status_pb2

pytest_plugins = ["tests.oip.open_fixtures", "tests.gateway.gateway_fixtures"]

PROGRAM = Path(__file__).with_name("genuine_open.py")
IRIS = {
    "iris": {
        "inputs": {"values": {"datatype": "FP64", "dims": [4]}},
        "outputs": {
            "predict": {"datatype": "INT64", "dims": [1]},
            "predict_proba": {"datatype": "FP64", "dims": [3], "labels": ["one", "two", "three"]},
        },
    }
}


def seen(oracle: OracleEnvironment, gateway: Gateway, protocol: int, model: str) -> Any:
    """What the program prints of one model, run by the genuine client."""
    name = ("http", "grpc")[protocol]
    done = oracle.run(PROGRAM, name, getattr(gateway, name), model)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("model", ["iris", "iris_declared"])
def test_genuine_client_classifies_flowers(
    oracle: OracleEnvironment,
    mlserver: MLServer,
    start_gateway: StartGateway,
    monkeypatch: pytest.MonkeyPatch,
    protocol: int,
    model: str,
) -> None:
    """A model that declares its tensors, and one of which the setting ``models`` names them."""
    monkeypatch.setitem(SURROUNDINGS["env"], "TRITON_SHIM_MODELS", json.dumps(IRIS))
    found = seen(oracle, start_gateway("--triton-grpc", mlserver.grpc), protocol, model)
    assert found["predict"] == [[0], [1], [2]]
    labels = ["one", "two", "three"] if model == "iris" else [""] * 3
    assert found["best"] == [[index, label] for index, label in enumerate(labels)]
    assert found["refused"] == {"stream": True, "sequence": True}[found["kind"]]


def test_genuine_client_adds(
    oracle: OracleEnvironment, kserve: KServeServer, start_gateway: StartGateway, protocol: int
) -> None:
    """The same client on KServe's server."""
    gateway = start_gateway("--triton-grpc", kserve.grpc)
    assert seen(oracle, gateway, protocol, "simple")["total"] == [*range(0, 32, 2)]


def test_streams_are_refused(mlserver: MLServer, start_gateway: StartGateway) -> None:
    """A request on a stream is refused before it is sent, also to a model that is known."""
    gateway = start_gateway("--triton-grpc", mlserver.grpc)
    found = list(gateway.stream([simple(1), simple(2)]))
    assert [one.meta_data.id for one in found] == [1, 2]
    for one in found:
        assert "leave streaming out" in one.request_status.msg
        assert one.request_status.code == request_status_pb2.UNSUPPORTED
