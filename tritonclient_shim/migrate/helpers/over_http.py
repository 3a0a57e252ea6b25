"""Helpers of files whose clients all speak HTTP, in place of those of the same names."""

import tritonclient.http as httpclient
from tritonclient.utils import np_to_triton_dtype

from tritonclient_shim.migrate.helpers.requests import CONFIGS, array_of, rows_of


def infer(client, model_name, inputs, outputs, **options):
    """Infer with an array for each entry of the batch. Outputs: RAW, or a number of classes."""
    config = cached_config(client, model_name)
    batches = config.get("max_batch_size", 0) > 0
    tensors = []
    for name, rows in inputs.items():
        array = array_of(config, name, rows)
        tensor = httpclient.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array)
        tensors.append(tensor)
    wanted = [httpclient.InferRequestedOutput(name, class_count=k) for name, k in outputs.items()]
    reply = client.infer(model_name, tensors, outputs=wanted, **options)
    return rows_of(reply, outputs, batches)


def cached_config(client, model_name):
    """Return the configuration of a model as JSON. Each client asks once."""
    configs = CONFIGS.setdefault(client, {})
    if model_name not in configs:
        configs[model_name] = client.get_model_config(model_name)
    return configs[model_name]
