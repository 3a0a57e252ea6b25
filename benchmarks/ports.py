"""The natural hand port of a v1 program to tritonclient."""

from __future__ import annotations

from contextlib import ExitStack
from types import ModuleType
from typing import Any, Mapping, Sequence

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import np_to_triton_dtype

from benchmarks.harness import Call

MODULES: dict[int, ModuleType] = {0: tritonclient.http, 1: tritonclient.grpc}
Entries = Mapping[str, Sequence[Any]]


class HandPort:
    """A client of tritonclient, used as its documentation shows."""

    def __init__(self, url: str, protocol: int, closing: ExitStack) -> None:
        self.url = url
        self.module = MODULES[protocol]
        self.client = self.module.InferenceServerClient(url)
        closing.callback(self.client.close)

    def inputs(self, entries: Entries) -> list[Any]:
        """Return an ``InferInput`` for each list of batch entries."""
        tensors = []
        for name, arrays in entries.items():
            batch = np.stack(arrays)
            tensor = self.module.InferInput(name, batch.shape, np_to_triton_dtype(batch.dtype))
            tensor.set_data_from_numpy(batch)
            tensors.append(tensor)
        return tensors

    def outputs(self, names: Sequence[str]) -> list[Any]:
        """Return requested outputs, as binary data."""
        return [self.module.InferRequestedOutput(name) for name in names]

    def infer(self, model: str, entries: Entries, names: Sequence[str]) -> Call:
        """Return a call of ``infer`` and ``as_numpy``."""

        def call() -> Any:
            result = self.client.infer(model, self.inputs(entries), outputs=self.outputs(names))
            return [result.as_numpy(name) for name in names]

        return call

    def classify(self, model: str, entries: Entries, name: str, count: int) -> Call:
        """Return a call that splits the strings of the server's classification."""

        def call() -> Any:
            wanted = [self.module.InferRequestedOutput(name, class_count=count)]
            result = self.client.infer(model, self.inputs(entries), outputs=wanted)
            return [[_class(text) for text in row] for row in result.as_numpy(name)]

        return call


def _class(text: bytes) -> tuple[int, float, str]:
    value, index, label = text.decode().split(":", 2)
    return int(index), float(value), label
