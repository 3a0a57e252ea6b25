"""OUTPUT0 = INPUT0 if that is 0; any other value is an error that names it."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
        refused = values[values != 0]
        if refused.size:
            error = pb_utils.TritonError(f"the model refused value {refused[0]:g}")
            return pb_utils.InferenceResponse([], error=error)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", values)])
