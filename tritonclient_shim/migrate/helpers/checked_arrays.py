"""Helpers of files whose requests check arrays as v1 did, in place of those of the same names."""

import numpy as np
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from tritonclient_shim.migrate.helpers.requests import stacked


def array_of(config, name, rows):
    """Return the array of an input. tritonclient takes np.bytes_ for text, so they become bytes."""
    tensor = {item.name: item for item in config.input}.get(name)
    arrays = fitting(name, rows, tensor)
    is_batch = config.max_batch_size > 0 or len(arrays) > 1
    array = stacked(arrays) if is_batch else np.asarray(arrays[0])
    if array.dtype.kind not in "OU":
        return array
    return np.frompyfunc(lambda x: bytes(x) if isinstance(x, bytes) else x, 1, 1)(array)


def fitting(name, rows, tensor):
    """Return arrays with the datatype of the model's input, and the shape of the first one."""
    is_list = isinstance(rows, (list, tuple))
    if not is_list or [row for row in rows if not isinstance(row, np.ndarray)]:
        raise InferenceServerException(f"input '{name}' must be a list of numpy arrays")
    if tensor is None:
        return rows
    if tensor.data_type == model_config_pb2.TYPE_STRING:
        return [np.asarray(row, object) for row in rows]
    datatype_name = model_config_pb2.DataType.Name(tensor.data_type)[len("TYPE_") :]
    datatype, shape = np.dtype(triton_to_np_dtype(datatype_name)), rows[0].shape
    size = np.prod(shape) * datatype.itemsize if shape else 0
    for row in rows:
        if row.nbytes != size or row.dtype.hasobject:
            raise InferenceServerException(f"input '{name}' expects {size} bytes per array")
    flat = [np.ascontiguousarray(row).reshape(-1) for row in rows]
    return [row.view(datatype).reshape(shape) for row in flat]
