"""OUTPUT = the sum of all INPUT values of the sequence since its START; CORRID names it."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


def control(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)[0]


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}
        outputs = json.loads(args["model_config"])["output"]
        self.tells_id = any(output["name"] == "CORRID" for output in outputs)

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        value = pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy()
        if control(request, "READY"):
            value = self.add(request, value)
        outputs = [pb_utils.Tensor("OUTPUT", value)]
        if self.tells_id:
            corrid = control(request, "CORRID").astype(np.uint64)
            outputs.append(pb_utils.Tensor("CORRID", corrid.reshape(1, 1)))
        return pb_utils.InferenceResponse(outputs)

    def add(self, request, value):
        sequence = int(control(request, "CORRID"))
        if control(request, "START"):
            self.sums[sequence] = np.zeros_like(value)
        total = self.sums[sequence] = self.sums[sequence] + value
        if control(request, "END"):
            del self.sums[sequence]
        return total
