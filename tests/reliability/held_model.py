"""A model for Triton's Python backend that answers what it is asked, when the test wants it to.

While the file ``hold`` lies in the model's folder, requests wait; ``arrived`` tells that one does.
"""

import os
import time
from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found]


class TritonPythonModel:
    """What the backend looks for."""

    def initialize(self, args: Any) -> None:
        """Remember where the model lies."""
        self.folder = args["model_repository"]

    def execute(self, requests: Any) -> Any:
        """Answer each request with its input, as soon as nothing holds it."""
        inputs = [pb_utils.get_input_tensor_by_name(request, "INPUT0") for request in requests]
        hold = os.path.join(self.folder, "hold")
        if os.path.exists(hold):
            with open(os.path.join(self.folder, "arrived"), "w"):
                pass
        while os.path.exists(hold):
            time.sleep(0.005)
        outputs = [pb_utils.Tensor("OUTPUT0", item.as_numpy()) for item in inputs]
        return [pb_utils.InferenceResponse([output]) for output in outputs]
