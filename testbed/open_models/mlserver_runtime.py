"""A custom runtime of MLServer that computes the models of the table."""

import numpy as np
from mlserver import MLModel
from mlserver.types import Datatype, InferenceResponse, ResponseOutput
from table import MODELS

_NUMPY = {"BOOL": bool, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64, "BYTES": object}


class Computed(MLModel):
    """A model that applies the table's function for its name and version."""

    async def predict(self, payload):
        """Apply the function to the inputs. Return the requested outputs, by default all."""
        arrays = {item.name: _array(item) for item in payload.inputs}
        received = {item.name: item.datatype for item in payload.inputs}
        declared = {item.name: item.datatype for item in self.outputs or []}
        results = MODELS[self.name].versions[self.version](arrays)
        wanted = [item.name for item in payload.outputs or []] or list(results)
        return InferenceResponse(
            model_name=self.name,
            model_version=self.version,
            outputs=[_output(n, {**received, **declared}[n], results[n]) for n in wanted],
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
