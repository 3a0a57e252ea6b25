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
    """Run the program with the genuine client on a model. Return the object that it prints."""
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
    """Models work that declare their tensors, or whose tensors the setting ``models`` names."""
    monkeypatch.setitem(SURROUNDINGS["env"], "TRITON_SHIM_MODELS", json.dumps(IRIS))
    result = seen(oracle, start_gateway("--triton-grpc", mlserver.grpc), protocol, model)
    assert result["predict"] == [[0], [1], [2]]
    labels = ["one", "two", "three"] if model == "iris" else [""] * 3
    assert result["best"] == [[index, label] for index, label in enumerate(labels)]
    assert result["refused"] == {"stream": True, "sequence": True}[result["kind"]]


def test_genuine_client_adds(
    oracle: OracleEnvironment, kserve: KServeServer, start_gateway: StartGateway, protocol: int
) -> None:
    """NVIDIA's client gets correct sums from KServe's server."""
    gateway = start_gateway("--triton-grpc", kserve.grpc)
    assert seen(oracle, gateway, protocol, "simple")["total"] == [*range(0, 32, 2)]


def test_streams_are_refused(mlserver: MLServer, start_gateway: StartGateway) -> None:
    """A request on a stream is refused before it is sent, also to a model that is known."""
    gateway = start_gateway("--triton-grpc", mlserver.grpc)
    result = list(gateway.stream([simple(1), simple(2)]))
    assert [item.meta_data.id for item in result] == [1, 2]
    for item in result:
        assert "leave streaming out" in item.request_status.msg
        assert item.request_status.code == request_status_pb2.UNSUPPORTED
