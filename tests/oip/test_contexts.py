"""Unchanged v1 calls on MLServer and on KServe's server (docs/servers.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    ModelRepositoryContext,
    ProtocolType,
    ServerHealthContext,
    ServerStatusContext,
)
from testbed import KServeServer, MLServer
from testbed.open_models.table import DATATYPES
from testbed.process import RunningServer

RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
FLOWERS = [
    np.array([5.1, 3.5, 1.4, 0.2]),
    np.array([6.0, 2.7, 4.1, 1.0]),
    np.array([6.5, 3.0, 5.8, 2.2]),
]

VALUES = {
    "BOOL": np.array([[True, False, True]]),
    "FP16": np.array([[0.5, -2.0, 65504.0]], np.float16),
    "FP32": np.array([[0.1, -1e38, 1e-38]], np.float32),
    "FP64": np.array([[0.1, -1e308, 5e-324]]),
    "BYTES": np.array([["", "v1", "\u00e9"]], object),
}


def values(datatype: str) -> Any:
    """Return three values of a datatype, extreme values among them."""
    if datatype in VALUES:
        return VALUES[datatype]
    limits = np.iinfo(datatype.lower())
    return np.array([[limits.min, 7, limits.max]], datatype.lower())


def run(url: str, protocol: int, model: str, *arguments: Any, **scalars: Any) -> Any:
    """Call ``run`` in a new context, and return its result."""
    context = InferContext(url, ProtocolType(protocol), model)
    try:
        return context.run(*arguments, **scalars)
    finally:
        context.close()


@pytest.mark.parametrize("datatype", DATATYPES)
def test_identity_of_each_datatype(open_url: str, protocol: int, datatype: str) -> None:
    """Finite values of every datatype, also extreme values, arrive exactly both ways."""
    sent = values(datatype)[0]
    model = f"identity_{datatype.lower()}"
    (received,) = run(open_url, protocol, model, {"INPUT0": [sent]}, {"OUTPUT0": RAW})["OUTPUT0"]
    if datatype == "BYTES":
        sent = np.array([item.encode() for item in sent], object)
    assert received.dtype == sent.dtype
    np.testing.assert_array_equal(received, sent)


def test_batches_of_several_inputs_and_outputs(open_url: str, protocol: int) -> None:
    """Inputs and outputs have one array per batch entry; the facade computes classes."""
    rows = [np.arange(16, dtype=np.int32), np.arange(16, dtype=np.int32)[::-1].copy()]
    inputs = {"INPUT0": rows, "INPUT1": [rows[0], rows[0]]}
    result = run(open_url, protocol, "simple", inputs, {"OUTPUT0": RAW, "OUTPUT1": (CLASS, 1)}, 2)
    np.testing.assert_array_equal(result["OUTPUT0"], [2 * rows[0], rows[0] + rows[1]])
    assert result["OUTPUT1"] == [[(0, 0.0, "")], [(0, 15.0, "")]]


def test_model_without_a_batch_dimension(open_url: str, protocol: int) -> None:
    """A fixed first dimension is part of the tensor, and the largest batch is 1."""
    row = np.arange(16, dtype=np.int32)
    inputs = {"INPUT0": [row], "INPUT1": [row]}
    (total,) = run(open_url, protocol, "simple_nobatch", inputs, {"OUTPUT0": RAW})["OUTPUT0"]
    np.testing.assert_array_equal(total, 2 * row)
    with pytest.raises(InferenceServerException, match="exceeds maximum batch size 1"):
        run(open_url, protocol, "simple_nobatch", inputs, {"OUTPUT0": RAW}, 2)


def test_undeclared_model(open_url: str, protocol: int) -> None:
    """A model that declares nothing takes the arrays' types, with one array per batch entry."""
    inputs = {"x": [np.array([[1.5], [2.5]])] * 3, "s": [np.array([["a"]], object)] * 3}
    result = run(open_url, protocol, "undeclared", inputs, {"x": RAW, "s": RAW}, 3)
    np.testing.assert_array_equal(result["x"], [[[1.5], [2.5]]] * 3)
    assert result["x"][0].dtype == np.float64
    assert [item.tolist() for item in result["s"]] == [[[b"a"]]] * 3


@pytest.mark.parametrize("model", ["iris", "iris_declared", "iris_boosted"])
def test_trained_models(mlserver: MLServer, protocol: int, model: str) -> None:
    """Models of scikit-learn and XGBoost classify three flowers."""
    url = mlserver.url(protocol)
    result = run(url, protocol, model, {"values": FLOWERS}, {"predict": RAW}, 3)
    assert [item.tolist() for item in result["predict"]] == [[0], [1], [2]]


def test_nan(open_server: RunningServer, protocol: int) -> None:
    """NaN arrives as NaN; a JSON null, which may mean an infinity, is an error."""
    url, sent = open_server.url(protocol), np.array([np.nan, 1.0], np.float32)
    arguments = url, protocol, "identity_fp32", {"INPUT0": [sent]}, {"OUTPUT0": RAW}
    if protocol == 0 and isinstance(open_server, MLServer):
        with pytest.raises(InferenceServerException, match="null, by which .* an infinity too"):
            run(*arguments)
    else:
        np.testing.assert_array_equal(run(*arguments)["OUTPUT0"], [sent])


@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        ("identity_fp32", np.array([-np.inf], np.float32), "an infinity, .*; expected finite"),
        ("identity_bytes", np.array([b"\xff"], object), "the bytes .*; expected UTF-8 text"),
    ],
)
def test_what_json_cannot_carry(mlserver: MLServer, model: str, value: Any, message: str) -> None:
    """A value that JSON cannot carry is an error that advises gRPC; over gRPC it arrives."""
    with pytest.raises(InferenceServerException, match=f"{message}.*: send it over gRPC"):
        run(mlserver.http, 0, model, {"INPUT0": [value]}, {"OUTPUT0": RAW})
    result = run(mlserver.grpc, 1, model, {"INPUT0": [value]}, {"OUTPUT0": RAW})
    np.testing.assert_array_equal(result["OUTPUT0"], [value])


@pytest.mark.parametrize("name", ["nope", "no such model", "a/b", "%41", "ü"])
def test_unknown_model(open_url: str, protocol: int, name: str) -> None:
    """A context for an unknown model raises v1's error, whatever characters the name has."""
    with pytest.raises(InferenceServerException) as caught:
        InferContext(open_url, ProtocolType(protocol), name)
    assert caught.value.message() == f"no status available for unknown model '{name}'"


def test_refusal_of_the_model(open_server: RunningServer, protocol: int) -> None:
    """The error has the server's text and the server's id."""
    url = open_server.url(protocol)
    with pytest.raises(InferenceServerException) as caught:
        run(url, protocol, "failing", {"INPUT0": [np.ones(1, np.float32)]}, {"OUTPUT0": RAW})
    silent = isinstance(open_server, KServeServer) and protocol == 1
    text = "Internal server error" if silent else "the model refused value 1"
    assert text in str(caught.value.message())
    of_kserve = isinstance(open_server, KServeServer)
    assert caught.value.server_id() == ("kserve" if of_kserve else "mlserver")


def test_asynchronous_requests(open_url: str, protocol: int) -> None:
    """Results of ``async_run`` arrive as on Triton."""
    context = InferContext(open_url, ProtocolType(protocol), "undeclared")
    sent = [np.full(2, number, np.int16) for number in range(8)]
    ids = [context.async_run({"x": [item]}, {"x": RAW}) for item in sent]
    result = [context.get_async_run_results(item, True)["x"][0] for item in ids]
    context.close()
    np.testing.assert_array_equal(result, sent)


def test_versions(open_server: RunningServer, protocol: int) -> None:
    """MLServer serves the version; on KServe, which has none, a context with a version fails."""
    url, kind = open_server.url(protocol), ProtocolType(protocol)
    if isinstance(open_server, KServeServer):
        with pytest.raises(InferenceServerException, match="has no model versions"):
            InferContext(url, kind, "multi_version", 2)
        return
    context = InferContext(url, kind, "multi_version", 2)
    result = context.run({"INPUT0": [np.zeros(1, np.float32)]}, {"OUTPUT0": RAW})
    assert result["OUTPUT0"][0].tolist() == [2.0]
    assert context.get_last_request_model_version() == 2
    context.close()


def test_sequences_are_refused(open_url: str, protocol: int) -> None:
    """A context or a request of a sequence is refused, because these servers ignore sequences."""
    kind = ProtocolType(protocol)
    with pytest.raises(InferenceServerException, match="correlation_id=5 .*extension sequence"):
        InferContext(open_url, kind, "classify", correlation_id=5)
    inputs, outputs = {"INPUT": [np.zeros(10, np.float32)]}, {"OUTPUT": RAW}
    context = InferContext(open_url, kind, "classify")
    for scalars in ({"corr_id": 5}, {"flags": 1}):
        for _ in range(2):  # before and after requests that the server has served
            with pytest.raises(InferenceServerException, match="sequence.*leave|pass flags"):
                context.run(inputs, outputs, **scalars)
            context.run(inputs, outputs, flags=0, corr_id=0)  # as the message advises
        request = context.async_run(inputs, outputs, **scalars)
        with pytest.raises(InferenceServerException, match="extension sequence"):
            context.get_async_run_results(request)
    context.close()


def test_streams_are_refused(open_server: RunningServer) -> None:
    """A streaming context is refused when it is made: its requests would get no reply."""
    with pytest.raises(InferenceServerException, match="streaming=True .*: leave streaming out"):
        InferContext(open_server.grpc, ProtocolType.GRPC, "classify", streaming=True)


def test_status_of_a_model(open_url: str, protocol: int) -> None:
    """The configuration has the tensors of the metadata, and the largest batch size."""
    context = ServerStatusContext(open_url, ProtocolType(protocol), "simple")
    status = context.get_server_status()
    config = status.model_status["simple"].config
    assert [(item.name, item.data_type, list(item.dims)) for item in config.input] == [
        ("INPUT0", 8, [16]),
        ("INPUT1", 8, [16]),
    ]
    assert config.max_batch_size == 2**31 - 1
    assert {
        version.ready_state for version in status.model_status["simple"].version_status.values()
    } == {1}
    with pytest.raises(InferenceServerException, match="no status available for unknown model"):
        ServerStatusContext(open_url, ProtocolType(protocol), "nope").get_server_status()


def test_status_and_index_of_all_models(open_server: RunningServer, protocol: int) -> None:
    """Status and index name all models; KServe lists none over gRPC, and its index fails."""
    url, kind = open_server.url(protocol), ProtocolType(protocol)
    status = ServerStatusContext(url, kind).get_server_status()
    index = ModelRepositoryContext(url, kind)
    if isinstance(open_server, KServeServer) and protocol == 1:
        assert not status.model_status
        with pytest.raises(InferenceServerException, match="extension model_repository.*by its"):
            index.get_model_repository_index()
        return
    assert "simple" in status.model_status
    assert {"simple", "classify"} <= {
        item.name for item in index.get_model_repository_index().models
    }


def test_health(open_url: str, protocol: int) -> None:
    """A running server is live and ready."""
    context = ServerHealthContext(open_url, ProtocolType(protocol))
    assert (context.is_live(), context.is_ready()) == (True, True)


def test_load_and_unload(mlserver: MLServer, protocol: int) -> None:
    """MLServer loads and unloads; a context for an unloaded model is an error."""
    url, kind = mlserver.url(protocol), ProtocolType(protocol)
    control = ModelControlContext(url, kind)
    control.unload("petal")
    try:
        with pytest.raises(InferenceServerException, match="unknown model 'petal'"):
            InferContext(url, kind, "petal")
    finally:
        control.load("petal")
    InferContext(url, kind, "petal").close()
    with pytest.raises(InferenceServerException, match="Model nope not found"):
        control.load("nope")


def test_unload_names_the_model_to_kserve(kserve: KServeServer, protocol: int) -> None:
    """KServe gets the model's name, also over gRPC, where its field differs from Triton's."""
    control = ModelControlContext(kserve.url(protocol), ProtocolType(protocol))
    with pytest.raises(InferenceServerException, match="Model with name nope does not exist"):
        control.unload("nope")
    with pytest.raises(InferenceServerException, match="Model with name nope is not ready"):
        control.load("nope")
