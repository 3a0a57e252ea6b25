"""The other servers live, and plain tritonclient reaches what they serve: nothing of ours yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client

from testbed import KServeServer, MLServer
from testbed.open_models.table import DATATYPES
from testbed.process import RunningServer

pytest_plugins = ["tests.oip.open_fixtures"]

VALUES = {
    "BOOL": np.array([[True, False, True]]),
    "FP16": np.array([[0.5, -2.0, 65504.0]], np.float16),
    "FP32": np.array([[0.1, -1e38, 1e-38]], np.float32),
    "FP64": np.array([[0.1, -1e308, 5e-324]]),
    "BYTES": np.array([["", "v1", "\u00e9"]], object),
}


def values(datatype: str) -> Any:
    """Three values, the extreme ones among them."""
    if datatype in VALUES:
        return VALUES[datatype]
    limits = np.iinfo(datatype.lower())
    return np.array([[limits.min, 7, limits.max]], datatype.lower())


def infer(
    server: RunningServer, protocol: int, model: str, tensors: Any, output: str = "OUTPUT0"
) -> Any:
    """The output for inputs by name, each a pair of datatype and array; over HTTP in JSON.

    KServe's server is the one that takes FP16 over HTTP in binary form alone.
    """
    client: Any = (http_client, grpc_client)[protocol]
    in_json = not protocol and not (isinstance(server, KServeServer) and "FP16" in str(tensors))
    binary = {} if protocol else {"binary_data": not in_json}
    inputs = [client.InferInput(n, list(a.shape), d) for n, (d, a) in tensors.items()]
    for one, (_, array) in zip(inputs, tensors.values()):
        one.set_data_from_numpy(array, **binary)
    wanted = [client.InferRequestedOutput(output, **binary)]
    # KServe takes a body without this header for binary tensors, and tritonclient sends none
    headers = {"Content-Type": "application/json"} if in_json else None
    with client.InferenceServerClient(server.url(protocol)) as connected:
        reply = connected.infer(model, inputs, outputs=wanted, headers=headers)
        return reply.as_numpy(output)


@pytest.mark.parametrize("datatype", DATATYPES)
def test_identity_of_each_datatype(
    open_server: RunningServer, protocol: int, datatype: str
) -> None:
    """Finite values of every datatype come back as they were, the extreme ones, too."""
    sent = values(datatype)
    model = f"identity_{datatype.lower()}"
    received = infer(open_server, protocol, model, {"INPUT0": (datatype, sent)})
    if datatype == "BYTES":
        received = np.array([[text_of(one) for one in received[0]]], object)
    np.testing.assert_array_equal(received, sent)


def text_of(element: Any) -> str:
    """tritonclient gives a BYTES element of a JSON tensor as text, of a binary one as bytes."""
    return element if isinstance(element, str) else element.decode()


def test_several_inputs_and_outputs(open_server: RunningServer, protocol: int) -> None:
    """Sum and difference."""
    numbers = np.arange(32, dtype=np.int32).reshape(2, 16)
    inputs = {f"INPUT{i}": ("INT32", numbers) for i in (0, 1)}
    np.testing.assert_array_equal(infer(open_server, protocol, "simple", inputs), 2 * numbers)


def test_several_datatypes_at_once(open_server: RunningServer, protocol: int) -> None:
    """Inputs and outputs of four datatypes, given and returned in different orders."""
    inputs = {
        "FLAG": ("BOOL", np.array([[True], [False]])),
        "WHOLE": ("INT64", np.array([[1], [-1]])),
        "REAL": ("FP64", np.array([[0.5, 0.25, 0.0], [1.0, 2.0, 3.0]])),
        "TEXT": ("BYTES", np.array([["a", "b"], ["", "c"]], object)),
    }
    total = infer(open_server, protocol, "mixed", inputs, "total")
    np.testing.assert_array_equal(total, [[1.75], [5.0]])


def test_undeclared_inputs(open_server: RunningServer, protocol: int) -> None:
    """A model that declares nothing answers to what it is given."""
    sent = np.array([[1.5], [2.5]])
    reply = infer(open_server, protocol, "undeclared", {"x": ("FP64", sent)}, "x")
    np.testing.assert_array_equal(reply, sent)


@pytest.mark.parametrize("model", ["iris", "iris_declared", "iris_boosted"])
def test_trained_models(mlserver: MLServer, protocol: int, model: str) -> None:
    """The classifiers of scikit-learn and XGBoost tell three flowers apart."""
    flowers = np.array([[5.1, 3.5, 1.4, 0.2], [6.0, 2.7, 4.1, 1.0], [6.5, 3.0, 5.8, 2.2]])
    kinds = infer(mlserver, protocol, model, {"values": ("FP64", flowers)}, "predict")
    assert kinds.reshape(-1).tolist() == [0, 1, 2]
