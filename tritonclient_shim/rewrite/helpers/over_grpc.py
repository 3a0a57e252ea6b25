"""Helpers of files whose clients all speak gRPC, in place of those of the same names."""

import numpy as np
import tritonclient.grpc as grpcclient
from tritonclient.utils import np_to_triton_dtype

from tritonclient_shim.rewrite.helpers.requests import stacked


def infer(client, model_name, inputs, outputs, **options):
    """Infer with an array for each entry of the batch. Outputs: 0, or a number of classes."""
    if model_name not in vars(client).setdefault("configs", {}):
        client.configs[model_name] = client.get_model_config(model_name).config
    batches, tensors = client.configs[model_name].max_batch_size > 0, []
    for name, rows in inputs.items():
        array = stacked(rows) if batches or len(rows) > 1 else np.asarray(rows[0])
        if array.dtype.kind in "OU":  # tritonclient takes np.bytes_ for text
            array = np.frompyfunc(lambda x: bytes(x) if isinstance(x, bytes) else x, 1, 1)(array)
        tensors.append(grpcclient.InferInput(name, array.shape, np_to_triton_dtype(array.dtype)))
        tensors[-1].set_data_from_numpy(array)
    wanted = [grpcclient.InferRequestedOutput(name, class_count=k) for name, k in outputs.items()]
    reply = client.infer(model_name, tensors, outputs=wanted, **options)
    arrays = {name: reply.as_numpy(name).copy() for name in outputs}
    results = {name: list(array) if batches else [array] for name, array in arrays.items()}
    for rows in (results[name] for name in outputs if outputs[name]):  # value:index:label
        rows[:] = [[text.decode().split(":", 2) for text in row.flat] for row in rows]
        rows[:] = [[(int(i), np.float32(v).item(), "".join(x)) for v, i, *x in row] for row in rows]
    return results


def model_config(client, model_name):
    """Return the configuration of a model. The client asks once."""
    if model_name not in vars(client).setdefault("configs", {}):
        config = client.configs[model_name] = client.get_model_config(model_name).config
        config.platform = config.platform or config.backend
    return client.configs[model_name]
