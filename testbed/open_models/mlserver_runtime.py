"""A custom runtime of MLServer that computes the models of the table."""

import numpy as np
from mlserver import MLModel
from mlserver.types import Datatype, InferenceResponse, ResponseOutput
from table import MODELS

_NUMPY = {"BOOL": bool, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64, "BYTES": object}


class Computed(MLModel):
    """The function that the table has for this model's name and version."""

    async def predict(self, payload):
        """Apply it to the inputs; return the outputs that were asked for, or all."""
        arrays = {item.name: _array(item) for item in payload.inputs}
        given = {item.name: item.datatype for item in payload.inputs}
        declared = {item.name: item.datatype for item in self.outputs or []}
        results = MODELS[self.name].versions[self.version](arrays)
        wanted = [item.name for item in payload.outputs or []] or list(results)
        return InferenceResponse(
            model_name=self.name,
            model_version=self.version,
            outputs=[_output(n, {**given, **declared}[n], results[n]) for n in wanted],
        )


def _array(tensor):
    kind = Datatype(tensor.datatype).value
    values = list(tensor.data.root)
    if kind == "BYTES":
        values = [value.encode() if isinstance(value, str) else value for value in values]
    return np.array(values, _NUMPY.get(kind, kind.lower())).reshape(tensor.shape)


def _output(name, datatype, array):
    return ResponseOutput(
        name=name, datatype=datatype, shape=list(array.shape), data=array.reshape(-1).tolist()
    )
