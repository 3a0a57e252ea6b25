"""Models that the setting ``models`` describes, on real servers (docs/settings.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ProtocolType,
    ServerStatusContext,
    grpc_service_pb2,
    grpc_service_pb2_grpc,
    request_status_pb2,
)
from testbed import MLServer, TritonServer
from tests.oip.test_contexts import CLASS, FLOWERS, RAW, run
from tritonclient_shim import configure

IRIS = {
    "inputs": {"values": {"datatype": "FP64", "dims": [4]}},
    "outputs": {
        "predict": {"datatype": "INT64", "dims": [1]},
        "predict_proba": {"datatype": "TYPE_FP64", "dims": [3], "labels": "kinds.txt"},
    },
}


@pytest.fixture
def settings_file(tmp_path: Path) -> str:
    """Return a JSON file about the model ``iris``, beside its label file."""
    (tmp_path / "kinds.txt").write_text("setosa\nversicolor\nvirginica\n", "utf-8")
    (tmp_path / "models.json").write_text(json.dumps({"iris": IRIS}), "utf-8")
    return str(tmp_path / "models.json")


def test_labels(mlserver: MLServer, protocol: int, settings_file: str) -> None:
    """Classes have the labels of the file, on a server that has none."""
    configure(models=settings_file)
    url = mlserver.url(protocol)
    result = run(url, protocol, "iris", {"values": FLOWERS}, {"predict_proba": (CLASS, 1)}, 3)
    labels = [row[0][2] for row in result["predict_proba"]]
    assert labels == ["setosa", "versicolor", "virginica"]


def test_declared_tensors_are_all(mlserver: MLServer, protocol: int, settings_file: str) -> None:
    """If the setting names tensors, another name or a wrong size is an error."""
    configure(models=settings_file)
    url = mlserver.url(protocol)
    with pytest.raises(InferenceServerException, match="unknown input 'value' for 'iris'"):
        run(url, protocol, "iris", {"value": FLOWERS}, {"predict": RAW}, 3)
    with pytest.raises(InferenceServerException, match="expects 32 bytes"):
        floats = [flower.astype(np.float32) for flower in FLOWERS]
        run(url, protocol, "iris", {"values": floats}, {"predict": RAW}, 3)


def test_batch_size(mlserver: MLServer, protocol: int) -> None:
    """A limit of the batch size holds; with 0 the arrays' first dimension is the batch."""
    url = mlserver.url(protocol)
    configure(models={"iris": {"max_batch_size": 2}})
    with pytest.raises(InferenceServerException, match="exceeds maximum batch size 2 allowed"):
        run(url, protocol, "iris", {"values": FLOWERS}, {"predict": RAW}, 3)
    configure(models={"iris": {"max_batch_size": 0}})
    result = run(url, protocol, "iris", {"values": [np.stack(FLOWERS)]}, {"predict": RAW})
    assert result["predict"][0].tolist() == [[0], [1], [2]]


def test_status(mlserver: MLServer, protocol: int, settings_file: str) -> None:
    """The configuration in the status has the tensors and labels of the setting."""
    configure(models=settings_file)
    context = ServerStatusContext(mlserver.url(protocol), ProtocolType(protocol), "iris")
    config = context.get_server_status().model_status["iris"].config
    assert [(item.name, item.data_type, list(item.dims)) for item in config.input] == [
        ("values", 12, [4])
    ]
    assert config.output[1].label_filename.endswith("kinds.txt")


def test_raw_stub(mlserver: MLServer, settings_file: str) -> None:
    """A raw stub's request has no data type, so that it succeeds only with the setting."""
    request = grpc_service_pb2.InferRequest(model_name="iris", model_version=-1)
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name="values")
    request.meta_data.output.add(name="predict")
    request.raw_input.append(FLOWERS[2].tobytes())
    with grpc.insecure_channel(mlserver.grpc) as channel:
        stub: Any = grpc_service_pb2_grpc.GRPCServiceStub(channel)
        refused = stub.Infer(request).request_status
        assert refused.code == request_status_pb2.INVALID_ARG
        assert refused.msg.endswith("name it in the setting models")
    configure(models=settings_file)
    with grpc.insecure_channel(mlserver.grpc) as channel:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
        for answer in (stub.Infer(request), stub.Infer.future(request).result()):
            assert answer.request_status.code == request_status_pb2.SUCCESS, answer.request_status
            assert np.frombuffer(answer.raw_output[0], np.int64).tolist() == [2]


def test_labels_on_triton(triton: TritonServer, protocol: int) -> None:
    """Where Triton's configuration names no label file, labels of the setting are used."""
    row = np.arange(16, dtype=np.int32)
    labels = [f"label {number}" for number in range(16)]
    configure(models={"simple": {"outputs": {"OUTPUT0": {"labels": labels}}}})
    inputs = {"INPUT0": [row], "INPUT1": [row]}
    context = InferContext(triton.url(protocol), ProtocolType(protocol), "simple")
    result = context.run(inputs, {"OUTPUT0": (CLASS, 1)})
    context.close()
    assert result["OUTPUT0"] == [[(15, 30.0, "label 15")]]
