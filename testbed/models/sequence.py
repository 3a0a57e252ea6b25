"""OUTPUT = the sum of all INPUT values of the sequence since its START."""

import numpy as np
import triton_python_backend_utils as pb_utils


def control(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)[0]


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        value = pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy()
        if control(request, "READY"):
            value = self.add(request, value)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", value)])

    def add(self, request, value):
        sequence = int(control(request, "CORRID"))
        if control(request, "START"):
            self.sums[sequence] = np.zeros_like(value)
        total = self.sums[sequence] = self.sums[sequence] + value
        if control(request, "END"):
            del self.sums[sequence]
        return total
