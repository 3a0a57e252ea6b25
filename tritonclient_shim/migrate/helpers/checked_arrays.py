"""Helpers of files whose requests check arrays as v1 did, in place of those of the same names."""

import numpy as np
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from tritonclient_shim.migrate.helpers.requests import AS_OBJECTS


def array_of(config, name, rows):
    """Return the array of an input: the bytes of the arrays, with the shape of the first one."""
    datatypes = {item["name"]: item["data_type"] for item in config.get("input", ())}
    if name not in datatypes:
        raise InferenceServerException(f"unknown input '{name}' for '{config['name']}'")
    is_list = isinstance(rows, (list, tuple)) and len(rows) > 0
    if not (is_list and all(isinstance(row, np.ndarray) for row in rows)):
        raise InferenceServerException(f"input '{name}' must be a list of numpy arrays")
    try:
        if datatypes[name] == "TYPE_STRING":
            arrays = [AS_OBJECTS(row.reshape(-1)) for row in rows]
        else:
            datatype = triton_to_np_dtype(datatypes[name][len("TYPE_") :])
            arrays = [np.ascontiguousarray(row).reshape(-1).view(datatype) for row in rows]
        batch = np.stack([array.reshape(rows[0].shape) for array in arrays])
    except (TypeError, ValueError) as error:
        raise InferenceServerException(f"input '{name}' does not fit: {error}") from error
    is_batch = config.get("max_batch_size", 0) > 0 or len(rows) > 1
    return batch if is_batch else batch[0]
