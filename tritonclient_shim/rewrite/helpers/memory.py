"""Shared memory: regions, and requests whose tensors are in them."""

from __future__ import annotations

import types
from typing import Any, Mapping, NamedTuple

import numpy as np
from google.protobuf import json_format
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import serialize_byte_tensor, shared_memory, triton_to_np_dtype

from tritonclient_shim.rewrite.helpers.clients import module_of
from tritonclient_shim.rewrite.helpers.requests import (
    config_of,
    infer_inputs,
    requested_outputs,
    results_of,
)


class Region(NamedTuple):
    """A region of shared memory: the handle, and what the server knows it by.

    key: of a region in CUDA memory the raw handle.
    """

    handle: Any
    name: str
    key: Any
    byte_size: int
    device_id: int | None = None


def create_region(name: str, key: str, byte_size: int) -> Region:
    """Create a region of shared memory."""
    handle = shared_memory.create_shared_memory_region(name, key, byte_size)
    return Region(handle, name, key, byte_size)


def cuda_memory() -> Any:
    """Return tritonclient's module for CUDA memory, which needs a GPU and cuda-python."""
    from tritonclient.utils import cuda_shared_memory

    return cuda_shared_memory


def create_cuda_region(name: str, byte_size: int, device_id: int) -> Region:
    """Create a region of CUDA memory."""
    handle = cuda_memory().create_shared_memory_region(name, byte_size, device_id)
    return Region(handle, name, cuda_memory().get_raw_handle(handle), byte_size, device_id)


def unregister_region(client: Any, region: Region) -> None:
    """Have the server forget a region of either memory."""
    if region.device_id is None:
        client.unregister_system_shared_memory(region.name)
    else:
        client.unregister_cuda_shared_memory(region.name)


def run_in_regions(
    client: Any,
    model_name: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    batch_size: int = 1,
    **options: Any,
) -> dict[str, list[Any]]:
    """Call `run_model` with a Region, or a Region and its shape, for some inputs and outputs."""
    config, make = config_of(client, model_name), module_of(client)
    tensors = []
    for name, rows in inputs.items():
        if isinstance(rows, Region) or isinstance(rows[0], Region):
            tensors.append(_region_input(make, config, name, rows, batch_size))
        else:
            tensors += infer_inputs(client, model_name, {name: rows})
    counts = {name: 0 if isinstance(to, Region) else to for name, to in outputs.items()}
    wanted = requested_outputs(client, counts)
    regions = {name: to for name, to in outputs.items() if isinstance(to, Region)}
    for output in wanted:
        if output.name() in regions:
            region = regions[output.name()]
            output.set_shared_memory(region.name, region.byte_size)
    result = client.infer(model_name, tensors, outputs=wanted, **options)
    plain = {name: count for name, count in counts.items() if name not in regions}
    results = results_of(result, plain, config)
    for name, region in regions.items():
        array = _array_in(region, result, name).copy()
        results[name] = list(array) if config.max_batch_size > 0 else [array]
    return results


def _region_input(make: Any, config: Any, name: str, rows: Any, batch_size: int) -> Any:
    """Return an input that the server reads from a region."""
    known = {item.name: item for item in config.input}[name]
    region, dims = (rows, known.dims) if isinstance(rows, Region) else rows
    datatype = model_config_pb2.DataType.Name(known.data_type)[len("TYPE_") :]
    datatype = datatype.replace("STRING", "BYTES")
    shape = [batch_size, *dims] if config.max_batch_size else list(dims)
    size = region.byte_size
    if datatype != "BYTES" and -1 not in shape:
        size = int(np.prod(shape)) * np.dtype(triton_to_np_dtype(datatype)).itemsize
    tensor = make.InferInput(name, shape, datatype)
    tensor.set_shared_memory(region.name, size)
    return tensor


def _array_in(region: Region, result: Any, name: str) -> Any:
    """Return the output that the server has written to a region."""
    output = result.get_output(name)
    if not isinstance(output, dict):
        output = {"datatype": output.datatype, "shape": output.shape}
    datatype, shape = triton_to_np_dtype(output["datatype"]), list(output["shape"])
    module = shared_memory if region.device_id is None else cuda_memory()
    return module.get_contents_as_numpy(region.handle, datatype, shape)


def shared_memory_status(client: Any) -> Any:
    """Return the regions that the server knows, as its attribute `shared_memory_region`."""
    answer = client.get_system_shared_memory_status()
    if not isinstance(answer, list):
        answer = [json_format.MessageToDict(region, preserving_proto_field_name=True)
                  for region in answer.regions.values()]  # fmt: skip
    regions = sorted(answer, key=lambda region: str(region["name"]))
    return types.SimpleNamespace(shared_memory_region=[_known_region(**item) for item in regions])


def _known_region(name: str, key: str = "", offset: int = 0, byte_size: int = 0) -> Any:
    place = types.SimpleNamespace(shared_memory_key=key, offset=int(offset))
    return types.SimpleNamespace(name=name, byte_size=int(byte_size), system_shared_memory=place)


def serialize_strings(array: Any) -> Any:
    """Return strings as a region of shared memory has them, as an array of bytes."""
    return np.frombuffer(serialize_byte_tensor(np.asarray(array, object)).item(), np.uint8)
