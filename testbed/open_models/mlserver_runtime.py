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
        arrays = {one.name: _array(one) for one in payload.inputs}
        given = {one.name: one.datatype for one in payload.inputs}
        declared = {one.name: one.datatype for one in self.outputs or []}
        results = MODELS[self.name].versions[self.version](arrays)
        wanted = [one.name for one in payload.outputs or []] or list(results)
        return InferenceResponse(
            model_name=self.name,
            model_version=self.version,
            outputs=[_output(n, {**given, **declared}[n], results[n]) for n in wanted],
        )


def _array(tensor):
    kind = Datatype(tensor.datatype).value
    values = list(tensor.data.root)
    if kind == "BYTES":
        values = [one.encode() if isinstance(one, str) else one for one in values]
    return np.array(values, _NUMPY.get(kind, kind.lower())).reshape(tensor.shape)


def _output(name, datatype, array):
    return ResponseOutput(
        name=name, datatype=datatype, shape=list(array.shape), data=array.reshape(-1).tolist()
    )
