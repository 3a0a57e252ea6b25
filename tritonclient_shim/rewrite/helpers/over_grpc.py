"""Helpers of files whose clients all speak gRPC, in place of those of the same names."""

import types

import numpy as np
import tritonclient.grpc as grpcclient
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from tritonclient_shim.rewrite.helpers.clients import version_text


def infer(client, model_name, inputs, outputs, **options):
    """Infer; inputs and results have an array for each entry of the batch."""
    configs = vars(client).setdefault("configs", {})
    if model_name not in configs:
        configs[model_name] = client.get_model_config(model_name).config
    batches, tensors = configs[model_name].max_batch_size > 0, []
    for name, rows in inputs.items():
        array = np.stack(rows) if batches else np.asarray(rows[0])
        if array.dtype.kind in "OU":  # tritonclient takes np.bytes_ for text
            texts = [bytes(text) if isinstance(text, bytes) else text for text in array.flat]
            array = np.array(texts, object).reshape(array.shape)
        tensors.append(grpcclient.InferInput(name, array.shape, np_to_triton_dtype(array.dtype)))
        tensors[-1].set_data_from_numpy(array)
    wanted = [grpcclient.InferRequestedOutput(name, class_count=k) for name, k in outputs.items()]
    result = client.infer(model_name, tensors, outputs=wanted, **options)
    arrays = {name: result.as_numpy(name).copy() for name in outputs}
    return {name: list(array) if batches else [array] for name, array in arrays.items()}


def model_config(client, model_name):
    """Return the configuration of a model. The client asks once."""
    configs = vars(client).setdefault("configs", {})
    if model_name not in configs:
        config = configs[model_name] = client.get_model_config(model_name).config
        config.platform = config.platform or config.backend
    return configs[model_name]


def config_status(client, model_name):
    """Return the part of a status that has the configuration of a model."""
    model = types.SimpleNamespace(config=client.get_model_config(model_name).config)
    return types.SimpleNamespace(model_status={model_name: model})


class GrpcModel:
    """A model on a server, with the methods of the context that it replaces."""

    def __init__(
        self, url, protocol, model_name, model_version=None, verbose=False, *rest, **named
    ):
        self.client = grpcclient.InferenceServerClient(url, bool(verbose))
        self.client.configs = {model_name: self.client.get_model_config(model_name).config}
        self.name, self.version = model_name, version_text(model_version)
        self.sequence = [*rest, named.get("correlation_id", 0)][0]

    def run(self, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=None):
        """Infer with an array for each entry of the batch."""
        if any(len(rows) != batch_size for rows in inputs.values()):
            raise InferenceServerException(f"expected {batch_size} arrays for each input")
        number = int(corr_id or self.sequence)
        number -= 2**64 if number >= 2**63 else 0  # gRPC's ids are signed
        options = {"sequence_id": number, "priority": priority, "timeout": timeout_us}
        options.update(sequence_start=bool(flags & 1), sequence_end=bool(flags & 2))
        return infer(self.client, self.name, inputs, outputs, model_version=self.version, **options)

    def close(self):
        """Close the client."""
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
