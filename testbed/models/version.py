"""OUTPUT0 = the number of the model version that answers, one for each value of INPUT0."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.version = float(args["model_version"])

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
        versions = np.full_like(values, self.version)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", versions)])
