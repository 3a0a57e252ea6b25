"""OUTPUT0 = INPUT0, after as many seconds as the largest value of INPUT0."""

import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        values = [pb_utils.get_input_tensor_by_name(one, "INPUT0").as_numpy() for one in requests]
        time.sleep(max((float(one.max()) for one in values if one.size), default=0.0))
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", one)]) for one in values]
