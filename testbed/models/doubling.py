"""The first output = the input, the second = twice the input."""

import json

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.source = config["input"][0]["name"]
        self.same, self.twice = [one["name"] for one in config["output"]]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, self.source).as_numpy()
        same = pb_utils.Tensor(self.same, values)
        twice = pb_utils.Tensor(self.twice, values * 2)
        return pb_utils.InferenceResponse([same, twice])
