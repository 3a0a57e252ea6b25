"""Functions bound with PyTriton's ``Triton.bind`` are served, and leave nothing behind."""

from __future__ import annotations

import glob
import os

import numpy as np
import tritonclient.http as client

from testbed import PyTritonServer
from tests.testbed.traces import Traces


def test_bound_functions_answer(pytriton: PyTritonServer) -> None:
    """The three functions compute what their docstrings say."""
    numbers = np.arange(16, dtype=np.int32).reshape(1, 16)
    texts = np.array([[str(one).encode() for one in range(16)]], object)
    doubled = np.array([[str(2 * one).encode() for one in range(16)]], object)
    scores = np.linspace(0, 1, 10, dtype=np.float32).reshape(1, 10)
    with client.InferenceServerClient(pytriton.http) as http:
        for name, inputs, datatype, output, expected in [
            ("simple", {"INPUT0": numbers, "INPUT1": numbers}, "INT32", "OUTPUT0", numbers * 2),
            ("simple_string", {"INPUT0": texts, "INPUT1": texts}, "BYTES", "OUTPUT0", doubled),
            ("classifier", {"INPUT": scores}, "FP32", "OUTPUT", scores),
        ]:
            tensors = [client.InferInput(one, list(a.shape), datatype) for one, a in inputs.items()]
            for tensor, array in zip(tensors, inputs.values()):
                tensor.set_data_from_numpy(array)
            answer = http.infer(name, tensors).as_numpy(output)
            np.testing.assert_array_equal(answer, expected)


def test_nothing_stays_behind() -> None:
    """At its end its processes, folder and shared-memory segments are gone."""
    with PyTritonServer.start() as server:
        with open(f"/proc/{server.pid}/environ", encoding="utf-8") as handle:
            variables = dict(one.split("=", 1) for one in handle.read().split("\0") if one)
        prefix = variables["TESTBED_SHM_PREFIX"].lstrip("/")
        traces = Traces(server.pid, os.path.dirname(server.log_path), prefix)
        regions = f"/dev/shm/pytrtion{server.pid}-*"
        numbers = np.zeros((1, 16), np.int32)
        tensors = [client.InferInput(f"INPUT{i}", [1, 16], "INT32") for i in (0, 1)]
        for tensor in tensors:
            tensor.set_data_from_numpy(numbers)
        with client.InferenceServerClient(server.http) as http:
            http.infer("simple", tensors)
        assert glob.glob(f"/dev/shm/{prefix}*")
        assert glob.glob(regions)
        assert len(traces.present()) > 5, "PyTriton, its server, their models, memory and folder"
    assert traces.present() + glob.glob(regions) == []
