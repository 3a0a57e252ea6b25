"""OUTPUT0 = INPUT0 and its last row once more, so that the batch comes back one too large."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
        longer = np.concatenate([values, values[-1:]])
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", longer)])
