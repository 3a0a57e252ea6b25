"""Answers each input, in the order of the configuration, as the output in the same place."""

import json

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.inputs = [one["name"] for one in config["input"]]
        self.outputs = [one["name"] for one in config["output"]]
        # numpy has no BF16; for every other type its route is the faster one
        bf16 = any(one["data_type"] == "TYPE_BF16" for one in config["input"])
        self.renamed = self.through_dlpack if bf16 else self.through_numpy

    def execute(self, requests):
        return [pb_utils.InferenceResponse(self.answer(request)) for request in requests]

    def answer(self, request):
        pairs = zip(self.inputs, self.outputs)
        return [self.renamed(pb_utils.get_input_tensor_by_name(request, a), b) for a, b in pairs]

    def through_numpy(self, tensor, name):
        return pb_utils.Tensor(name, tensor.as_numpy())

    def through_dlpack(self, tensor, name):
        return pb_utils.Tensor.from_dlpack(name, tensor.to_dlpack())
