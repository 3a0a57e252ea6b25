"""Requests from lists of arrays, whose shapes come from the model's configuration."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
from google.protobuf import json_format
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from tritonclient_shim.rewrite.helpers.clients import module_of

#: Name of an input → one array for each entry of the batch.
Rows = Mapping[str, Sequence[Any]]


def config_of(client: Any, model_name: str) -> model_config_pb2.ModelConfig:
    """Return the configuration of a model, which the client fetches once."""
    known = vars(client).setdefault("_configs", {})
    if model_name not in known:
        answer = client.get_model_config(model_name)
        if isinstance(answer, dict):
            message = model_config_pb2.ModelConfig()
            known[model_name] = json_format.ParseDict(answer, message, ignore_unknown_fields=True)
        else:
            known[model_name] = answer.config
        config = known[model_name]
        config.platform = config.platform or config.backend
    return known[model_name]


def check_model(client: Any, model_name: str) -> None:
    """Raise an error if the server does not have the model."""
    if not client.is_model_ready(model_name):
        text = f"no status available for unknown model '{model_name}'"
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")


def input_batch(config: Any, name: str, rows: Sequence[Any]) -> tuple[str, Any]:
    """Return the datatype of an input, and its rows as one array of the model's shape."""
    tensor = next((item for item in config.input if item.name == name), None)
    if tensor is None:
        raise InferenceServerException(f"unknown input '{name}' for '{config.name}'")
    datatype = model_config_pb2.DataType.Name(tensor.data_type)[len("TYPE_") :]
    batch = np.stack(rows)
    if datatype == "STRING":
        datatype = "BYTES"
        plain = [bytes(text) if isinstance(text, bytes) else text for text in batch.flat]
        batch = np.array(plain, object).reshape(batch.shape)
    else:
        batch = np.ascontiguousarray(batch).view(triton_to_np_dtype(datatype))
    dims = batch.shape[1:] if -1 in tensor.dims else tuple(tensor.dims)
    try:
        return datatype, batch.reshape((len(rows), *dims) if config.max_batch_size else dims)
    except ValueError as error:
        raise InferenceServerException(f"input '{name}': {error}") from error


def infer_inputs(client: Any, model_name: str, inputs: Rows) -> list[Any]:
    """Return the tensors of a request, from a list of arrays for each input."""
    config, tensors = config_of(client, model_name), []
    for name, rows in inputs.items():
        datatype, batch = input_batch(config, name, rows)
        tensor = module_of(client).InferInput(name, list(batch.shape), datatype)
        tensor.set_data_from_numpy(batch)
        tensors.append(tensor)
    return tensors


def requested_outputs(client: Any, outputs: Mapping[str, int]) -> list[Any]:
    """Return the outputs of a request, from the number of classes of each or 0 for the array."""
    make = module_of(client).InferRequestedOutput
    return [make(name, class_count=count) for name, count in outputs.items()]


def run_model(
    client: Any, model_name: str, inputs: Rows, outputs: Mapping[str, int], **options: Any
) -> dict[str, list[Any]]:
    """Infer; inputs and results have one array for each entry of the batch.

    outputs: name of each output -> how many classes to return, or 0 for the array.
    """
    tensors = infer_inputs(client, model_name, inputs)
    wanted = requested_outputs(client, outputs)
    result = client.infer(model_name, tensors, outputs=wanted, **options)
    return results_of(result, outputs, config_of(client, model_name))


def results_of(
    result: Any, outputs: Mapping[str, int], config: model_config_pb2.ModelConfig
) -> dict[str, list[Any]]:
    """Return for each output a list of what each entry of the batch has."""
    results: dict[str, list[Any]] = {}
    for name, count in outputs.items():
        array = result.as_numpy(name).copy()
        output = result.get_output(name)
        if not array.size and isinstance(output, dict):  # older releases of tritonclient.http
            array = array.astype(triton_to_np_dtype(output["datatype"]))
        results[name] = list(array) if config.max_batch_size > 0 else [array]
        if count:
            results[name] = [classes_of(row) for row in results[name]]
    return results


def classes_of(texts: Any) -> list[tuple[int, float, str]]:
    """Return index, value and label of classes such as b"0.9:3:cat"."""
    parts = [(text.decode().split(":", 2) + [""])[:3] for text in texts.flat]
    return [(int(index), float(np.float32(value)), label) for value, index, label in parts]


def class_counts(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many classes each output has: of (1,) and (2, k), as programs had it, 0 and k."""
    pairs = ((name, form if type(form) is tuple else (2, form)) for name, form in outputs.items())
    return {name: form[1] if len(form) == 2 else 0 for name, form in pairs}
