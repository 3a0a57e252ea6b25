"""Shared memory: regions, and requests whose tensors are in them."""

import collections
import os
import time
from types import SimpleNamespace

import numpy as np
from tritonclient.utils import (
    InferenceServerException,
    np_to_triton_dtype,
    serialize_byte_tensor,
    shared_memory,
    triton_to_np_dtype,
)

from tritonclient_shim.migrate.helpers.requests import (
    array_of,
    cached_config,
    module_of,
)

#: A region: its handle, and what the server knows it by. A CUDA `key` is the raw handle.
Region = collections.namedtuple("Region", "handle name key byte_size device_id", defaults=[None])


def create_region(name, key, byte_size):
    """Create a region of shared memory. An object that exists grows to its size."""
    if byte_size < 0:
        raise shared_memory.SharedMemoryException("unable to initialize the size")
    path = os.path.join("/dev/shm", key.lstrip("/"))
    try:
        if os.path.isfile(path) and os.path.getsize(path) < byte_size:
            os.truncate(path, byte_size)
        handle = shared_memory.create_shared_memory_region(name, key, byte_size)
    except (OSError, ValueError) as error:  # for a bad key, or an empty object
        message = "unable to get shared memory descriptor"
        raise shared_memory.SharedMemoryException(message) from error
    return Region(handle, name, key, byte_size)


def destroy_region(region):
    """Remove the key of a region from the system. It must be there."""
    if not os.path.exists(os.path.join("/dev/shm", region.key.lstrip("/"))):
        raise shared_memory.SharedMemoryException("unable to unlink the shared memory region")
    shared_memory.destroy_shared_memory_region(region.handle)


def set_region(region, input_values):
    """Copy arrays into a region. tritonclient's function takes none without dimensions."""
    if isinstance(input_values, (list, tuple)):
        input_values = [
            array.reshape(1) if isinstance(array, np.ndarray) and not array.ndim else array
            for array in input_values
        ]
    shared_memory.set_shared_memory_region(region.handle, input_values)


def is_region(value):
    """True for a Region, which another file of the program may have made."""
    return hasattr(value, "byte_size")


def has_region(rows):
    """True for a Region and the shape of an input."""
    if is_region(rows) or not isinstance(rows, (list, tuple)) or len(rows) != 2:
        return False
    return is_region(rows[0]) and isinstance(rows[1], (list, tuple)) and not is_region(rows[1])


def cuda_memory():
    """Return tritonclient's module for CUDA memory, which needs a GPU and cuda-python."""
    from tritonclient.utils import cuda_shared_memory

    return cuda_shared_memory


def cuda_error():
    """Return the exception of CUDA memory, or those of a host without CUDA."""
    try:
        return cuda_memory().CudaSharedMemoryException
    except (ImportError, OSError, RuntimeError):
        return ImportError, OSError, RuntimeError


def create_cuda_region(name, byte_size, device_id):
    """Create a region of CUDA memory."""
    memory = cuda_memory()
    handle = memory.create_shared_memory_region(name, byte_size, device_id)
    return Region(handle, name, memory.get_raw_handle(handle), byte_size, device_id)


def unregister_region(client, region=None):
    """Have the server forget a region, or all.

    Over gRPC, the server uses a region for a moment after its reply, and refuses until then.
    """
    kind = "system" if region is None or region.device_id is None else "cuda"
    unregister = getattr(client, f"unregister_{kind}_shared_memory")
    deadline = time.monotonic() + 10
    while True:
        try:
            return unregister(region.name if region else "")
        except InferenceServerException as error:
            if "unregister" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def region_status(client):
    """Return an object with the list of the regions that a server knows, sorted by name."""
    rows = []
    for kind in "system", "cuda":
        answer = getattr(client, f"get_{kind}_shared_memory_status")()
        if isinstance(answer, list):  # over HTTP
            rows += [(kind, SimpleNamespace(**row)) for row in answer]
        else:
            rows += [(kind, row) for row in answer.regions.values()]
    regions = [known_region(kind, row) for kind, row in rows]
    return SimpleNamespace(shared_memory_region=sorted(regions, key=lambda region: region.name))


def known_region(kind, row):
    """Return a region that a server knows. ``kind``: ``system`` or ``cuda``."""
    key = getattr(row, "key", "")
    offset = getattr(row, "offset", 0)
    region = SimpleNamespace(
        name=row.name,
        byte_size=row.byte_size,
        system_shared_memory=SimpleNamespace(shared_memory_key=key, offset=offset),
        cuda_shared_memory=SimpleNamespace(device_id=getattr(row, "device_id", 0)),
    )
    region.WhichOneof = lambda kinds: f"{kind}_shared_memory"
    region.HasField = lambda field: field == f"{kind}_shared_memory"
    return region


def infer_in_regions(client, model_name, inputs, outputs, batch_size=1, **options):
    """Infer with a Region, or a Region and its shape, in place of some arrays."""
    triton = module_of(client)
    config = cached_config(client, model_name)
    batches = config.get("max_batch_size", 0) > 0
    tensors = []
    for name, rows in inputs.items():
        if is_region(rows) or has_region(rows):
            tensors.append(region_input(triton, config, name, rows, batch_size))
            continue
        array = array_of(config, name, rows)
        tensor = triton.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array)
        tensors.append(tensor)
    wanted = []
    for name, target in outputs.items():
        output = triton.InferRequestedOutput(name)
        if is_region(target):
            output.set_shared_memory(target.name, target.byte_size)
        wanted.append(output)
    result = client.infer(model_name, tensors, outputs=wanted, **options)
    results = {}
    for name, target in outputs.items():
        array = contents(target, result, name) if is_region(target) else result.as_numpy(name)
        results[name] = list(array.copy()) if batches else [array.copy()]
    return results


def region_input(triton, config, name, rows, batch_size):
    """Return an input that the server reads from a region, which has the size of the input."""
    items = {item["name"]: item for item in config.get("input", ())}
    if name not in items:
        raise InferenceServerException(f"unknown input '{name}' for '{config['name']}'")
    item = items[name]
    region, dims = (rows, map(int, item["dims"])) if is_region(rows) else rows
    datatype = item["data_type"][len("TYPE_") :]
    shape = [batch_size, *dims] if config.get("max_batch_size", 0) > 0 else list(dims)
    tensor = triton.InferInput(name, shape, datatype.replace("STRING", "BYTES"))
    tensor.set_shared_memory(region.name, region.byte_size)
    return tensor


def contents(region, result, name):
    """Return the output that the server has written to a region."""
    output = result.get_output(name)
    if not isinstance(output, dict):
        output = {"datatype": output.datatype, "shape": output.shape}
    datatype, shape = triton_to_np_dtype(output["datatype"]), list(output["shape"])
    memory = shared_memory if region.device_id is None else cuda_memory()
    return memory.get_contents_as_numpy(region.handle, datatype, shape)


def serialize_strings(array):
    """Return strings as a region of shared memory has them, as an array of one text."""
    if not isinstance(array, np.ndarray):
        raise InferenceServerException("input must be a numpy array")
    if not array.size:
        raise InferenceServerException("input cannot be empty")
    if array.dtype.kind not in "OS":
        raise InferenceServerException("cannot serialize string tensor: invalid datatype")
    return np.asarray(serialize_byte_tensor(np.asarray(array, object)).item(), np.bytes_)
