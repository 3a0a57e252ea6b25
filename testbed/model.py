"""The computations of the standard models. The Python backend runs a copy of this file for each.

``repository.py`` replaces ``BEHAVIOUR`` with the name of a function below.
"""

import json
import time

import numpy as np
import triton_python_backend_utils as pb_utils

BEHAVIOUR = "identity"


class TritonPythonModel:
    """A model that computes one of the behaviours below."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.inputs, self.outputs = config["input"], config["output"]
        self.version = float(args["model_version"])
        self.state = {}
        if BEHAVIOUR == "broken":
            raise RuntimeError("this model always fails to load")

    def execute(self, requests):
        if BEHAVIOUR == "slow":
            values = [tensor_of(request, "INPUT0").as_numpy() for request in requests]
            time.sleep(max((float(value.max()) for value in values if value.size), default=0.0))
        return [BEHAVIOURS[BEHAVIOUR](self, request) for request in requests]


def tensor_of(request, name):
    return pb_utils.get_input_tensor_by_name(request, name)


def reply(*outputs):
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, value) for name, value in outputs])


def add_sub(model, request):
    """Return the sum as OUTPUT0, the difference as OUTPUT1. STRING tensors contain numbers."""
    left, right = (tensor_of(request, name).as_numpy() for name in ("INPUT0", "INPUT1"))
    text = left.dtype == object
    if text:
        left, right = left.astype(np.int64), right.astype(np.int64)
    results = [left + right, left - right]
    if text:
        results = [np.char.mod(b"%d", result).astype(object) for result in results]
    return reply(*zip(("OUTPUT0", "OUTPUT1"), results))


def constant(model, request):
    """Return one output for every request of a batch size. Only copying it takes time."""
    batch = len(request.inputs()[0].as_numpy())
    if batch not in model.state:
        output = model.outputs[0]
        shape = [batch, *(int(size) for size in output["dims"])]
        dtype = pb_utils.triton_string_to_numpy(output["data_type"])
        values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
        model.state[batch] = pb_utils.Tensor(output["name"], values)
    return pb_utils.InferenceResponse([model.state[batch]])


def doubling(model, request):
    """Return the input as the first output, and twice the input as the second output."""
    values = tensor_of(request, model.inputs[0]["name"]).as_numpy()
    same, twice = (output["name"] for output in model.outputs)
    return reply((same, values), (twice, values * 2))


def extra_row(model, request):
    """Return the input with its last row repeated: a batch with a row too many."""
    values = tensor_of(request, "INPUT0").as_numpy()
    return reply(("OUTPUT0", np.concatenate([values, values[-1:]])))


def failing(model, request):
    """Return the input if it is 0. Any other value is an error that names the value."""
    values = tensor_of(request, "INPUT0").as_numpy()
    refused = values[values != 0]
    if refused.size:
        error = pb_utils.TritonError(f"the model refused value {refused[0]:g}")
        return pb_utils.InferenceResponse([], error=error)
    return reply(("OUTPUT0", values))


def first_output_only(model, request):
    """Return INPUT0 as OUTPUT0. Omit every other output of the configuration."""
    return reply(("OUTPUT0", tensor_of(request, "INPUT0").as_numpy()))


def flowers(model, request):
    """Return a score of each kind of flower: nearer measurements give a higher score."""
    typical = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    values = tensor_of(request, "values").as_numpy()
    nearness = np.exp(-((values[:, None] - typical) ** 2).sum(axis=2))
    return reply(("predict_proba", nearness / nearness.sum(axis=1, keepdims=True)))


def identity(model, request):
    """Return the inputs as outputs, in the order of the configuration."""
    # numpy has no BF16. For every other type numpy is faster than DLPack.
    bf16 = any(tensor["data_type"] == "TYPE_BF16" for tensor in model.inputs)
    outputs = []
    for source, target in zip(model.inputs, model.outputs):
        tensor = tensor_of(request, source["name"])
        if bf16:
            outputs.append(pb_utils.Tensor.from_dlpack(target["name"], tensor.to_dlpack()))
        else:
            outputs.append(pb_utils.Tensor(target["name"], tensor.as_numpy()))
    return pb_utils.InferenceResponse(outputs)


def image_scores(model, request):
    """Return as score k of each image its value at flat position 150 * k, channels first."""
    images = tensor_of(request, "input").as_numpy()
    scores = np.ascontiguousarray(images.reshape(len(images), -1)[:, :150000:150])
    return reply(("probabilities", scores))


def refusing(model, request):
    """Refuse with the code that INPUT0 names, and a text that has words of gRPC."""
    name = tensor_of(request, "INPUT0").as_numpy().reshape(-1)[0].decode()
    code = getattr(pb_utils.TritonError, name)
    error = pb_utils.TritonError("the store said: Socket closed", code)
    return pb_utils.InferenceResponse([], error=error)


def repeated(model, request):
    """Return INPUT0 as each output that the request asks for."""
    values = tensor_of(request, "INPUT0").as_numpy()
    return reply(*[(name, values) for name in request.requested_output_names()])


def sequence(model, request):
    """Return the sum of all INPUT values since START of the sequence that CORRID names."""
    value = tensor_of(request, "INPUT").as_numpy()
    controls = ("START", "END", "READY", "CORRID")
    start, end, ready, number = (tensor_of(request, name).as_numpy().flat[0] for name in controls)
    if ready:
        before = np.zeros_like(value) if start else model.state[int(number)]
        value = model.state[int(number)] = before + value
        if end:
            del model.state[int(number)]
    outputs = [("OUTPUT", value), ("CORRID", np.array([[number]], np.uint64))]
    return reply(*outputs[: len(model.outputs)])


def version(model, request):
    """Return the number of this version for each value of INPUT0."""
    values = tensor_of(request, "INPUT0").as_numpy()
    return reply(("OUTPUT0", np.full_like(values, model.version)))


_FUNCTIONS = (
    *(add_sub, constant, doubling, extra_row, failing, first_output_only, flowers, identity),
    *(image_scores, refusing, repeated, sequence, version),
)
BEHAVIOURS = {"slow": identity, **{function.__name__: function for function in _FUNCTIONS}}
