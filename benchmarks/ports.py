"""The natural hand port of a v1 program to tritonclient, for both protocols."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Mapping, Sequence

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import np_to_triton_dtype

from benchmarks.harness import Call

MODULES: dict[int, ModuleType] = {0: tritonclient.http, 1: tritonclient.grpc}


class HandPort:
    """tritonclient used as its documentation shows it."""

    def __init__(self, url: str, protocol: int) -> None:
        self.url = url
        self.module = MODULES[protocol]
        self.client = self.module.InferenceServerClient(url)

    def inputs(self, entries: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Lists of batch entries → one ``InferInput`` each."""
        made = []
        for name, arrays in entries.items():
            batch = np.stack(arrays)
            tensor = self.module.InferInput(name, batch.shape, np_to_triton_dtype(batch.dtype))
            tensor.set_data_from_numpy(batch)
            made.append(tensor)
        return made

    def outputs(self, names: Sequence[str]) -> list[Any]:
        """Requested outputs, as binary data."""
        return [self.module.InferRequestedOutput(name) for name in names]

    def infer(self, model: str, entries: Mapping[str, Sequence[Any]], names: Sequence[str]) -> Call:
        """``infer`` and ``as_numpy``."""

        def call() -> Any:
            result = self.client.infer(model, self.inputs(entries), outputs=self.outputs(names))
            return [result.as_numpy(name) for name in names]

        return call

    def classify(
        self, model: str, entries: Mapping[str, Sequence[Any]], name: str, count: int
    ) -> Call:
        """The server's classification, its strings taken apart."""

        def call() -> Any:
            wanted = [self.module.InferRequestedOutput(name, class_count=count)]
            result = self.client.infer(model, self.inputs(entries), outputs=wanted)
            return [[_class(text) for text in row] for row in result.as_numpy(name)]

        return call

    def close(self) -> None:
        """Close the client."""
        self.client.close()


def _class(text: bytes) -> tuple[int, float, str]:
    value, index, label = text.decode().split(":", 2)
    return int(index), float(value), label


def model_client(
    url: str, protocol: int, model: str, entries: Mapping[str, Sequence[Any]], names: Sequence[str]
) -> Call | None:
    """The same with pytriton's ModelClient; None where pytriton is not installed.

    None for strings as well: it takes encoded ones only, which is work the others include.
    """
    if any(array.dtype == object for arrays in entries.values() for array in arrays):
        return None
    try:
        from pytriton.client import ModelClient
    except ImportError:
        return None
    scheme = "grpc" if protocol else "http"
    client = ModelClient(f"{scheme}://{url}", model)

    def call() -> Any:
        batches = {name: np.stack(arrays) for name, arrays in entries.items()}
        result = client.infer_batch(**batches)
        return [result[name] for name in names]

    return call
