"""OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1; STRING tensors hold decimal numbers."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        left = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
        right = pb_utils.get_input_tensor_by_name(request, "INPUT1").as_numpy()
        text = left.dtype == object
        if text:
            left, right = left.astype(np.int64), right.astype(np.int64)
        results = [left + right, left - right]
        if text:
            results = [np.char.mod(b"%d", one).astype(object) for one in results]
        named = zip(("OUTPUT0", "OUTPUT1"), results)
        return pb_utils.InferenceResponse([pb_utils.Tensor(*one) for one in named])
