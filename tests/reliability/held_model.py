"""A model for Triton's Python backend that returns its input when the test allows it.

While the file ``hold`` is in the model's folder, requests wait; ``arrived`` shows that a request
waits.
"""

import os
import time
from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found]


class TritonPythonModel:
    """The class that the backend loads."""

    def initialize(self, args: Any) -> None:
        """Record the model's folder."""
        self.folder = args["model_repository"]

    def execute(self, requests: Any) -> Any:
        """Answer each request with its input, as soon as the hold ends."""
        inputs = [pb_utils.get_input_tensor_by_name(request, "INPUT0") for request in requests]
        hold = os.path.join(self.folder, "hold")
        if os.path.exists(hold):
            with open(os.path.join(self.folder, "arrived"), "w"):
                pass
        while os.path.exists(hold):
            time.sleep(0.005)
        outputs = [pb_utils.Tensor("OUTPUT0", item.as_numpy()) for item in inputs]
        return [pb_utils.InferenceResponse([output]) for output in outputs]
