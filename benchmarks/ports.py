"""The natural hand ports of a v1 program: to tritonclient, and to pytriton's clients."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import find_spec
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
    """tritonclient used as its documentation shows it."""

    def __init__(self, url: str, protocol: int, closing: ExitStack) -> None:
        self.url = url
        self.module = MODULES[protocol]
        self.client = self.module.InferenceServerClient(url)
        closing.callback(self.client.close)

    def inputs(self, entries: Entries) -> list[Any]:
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

    def infer(self, model: str, entries: Entries, names: Sequence[str]) -> Call:
        """``infer`` and ``as_numpy``."""

        def call() -> Any:
            result = self.client.infer(model, self.inputs(entries), outputs=self.outputs(names))
            return [result.as_numpy(name) for name in names]

        return call

    def classify(self, model: str, entries: Entries, name: str, count: int) -> Call:
        """Return the server's classification with its strings split."""

        def call() -> Any:
            wanted = [self.module.InferRequestedOutput(name, class_count=count)]
            result = self.client.infer(model, self.inputs(entries), outputs=wanted)
            return [[_class(text) for text in row] for row in result.as_numpy(name)]

        return call


def _class(text: bytes) -> tuple[int, float, str]:
    value, index, label = text.decode().split(":", 2)
    return int(index), float(value), label


def model_client(
    url: str, protocol: int, model: str, entries: Entries, names: Sequence[str], closing: ExitStack
) -> dict[str, Call]:
    """``{"pytriton": call}`` with pytriton's ModelClient; nothing where it is not installed.

    It has no classes, no shared memory and no sequences: those rows are without it.
    """
    if not has_pytriton():
        return {}
    client = pytriton_client("ModelClient", url, protocol, model, closing)

    def call() -> Any:
        batches = {name: _encoded(np.stack(arrays)) for name, arrays in entries.items()}
        result = client.infer_batch(**batches)
        return [result[name] for name in names]

    return {"pytriton": call}


def _encoded(batch: Any) -> Any:
    """It takes texts encoded only, and names this function in its refusal."""
    return np.char.encode(batch.astype(np.str_), "utf-8") if batch.dtype == object else batch


def futures_client(
    url: str,
    protocol: int,
    model: str,
    requests: Sequence[Mapping[str, Any]],
    name: str,
    closing: ExitStack,
) -> dict[str, Call]:
    """``{"pytriton": call}`` with its FuturesModelClient: one sample per request, all at once.

    The queue takes every request before the first result is awaited. Behind it are the client's
    own 128 threads on HTTP, each with one request on the wire. (Without that limit it starts new
    ones in every round and ends none.) On gRPC there is one thread: the others that pytriton
    0.7.0 would start speak HTTP to the gRPC port, and all their requests fail.
    """
    if not has_pytriton():
        return {}
    limits = {"max_queue_size": len(requests) + 1, "max_workers": 1 if protocol else 128}
    client = pytriton_client("FuturesModelClient", url, protocol, model, closing, **limits)

    def call() -> Any:
        sent = [client.infer_sample(**request) for request in requests]
        return [future.result()[name] for future in sent]

    return {"pytriton": call}


def has_pytriton() -> bool:
    """True if pytriton is installed."""
    return find_spec("pytriton") is not None


def pytriton_client(
    kind: str, url: str, protocol: int, model: str, closing: ExitStack, **limits: int
) -> Any:
    """One of pytriton's clients, by the name of its class."""
    import pytriton.client

    scheme = "grpc" if protocol else "http"
    client = getattr(pytriton.client, kind)(f"{scheme}://{url}", model, **limits)
    return closing.enter_context(client)
