import json
import os

import numpy as np
import tensorrtserver.api

SETTINGS = json.loads(os.environ.get("SETTINGS", '{"host": "localhost", "protocol": 0}'))


class Predictor:
    def __init__(self, settings):
        self.context = tensorrtserver.api.InferContext(
            url=settings["server"],
            protocol=settings["protocol"],  # 0 is http, 1 is grpc
            model_name=settings["model"],
            model_version=settings.get("version"),
            verbose=False,
        )
        self.input_name = settings["input"]
        self.output_name = settings["output"]

    def __call__(self, rows):
        answer = self.context.run(
            inputs={self.input_name: [np.array(row, dtype=np.float32) for row in rows]},
            outputs={self.output_name: tensorrtserver.api.InferContext.ResultFormat.RAW},
            batch_size=len(rows),
        )
        return [row.tolist() for row in answer[self.output_name]]


predictor = Predictor(SETTINGS)
print(json.dumps(predictor([[1, 2, 3, 4], [5, 6, 7, 8]])))
print(json.dumps(predictor([[0, 0, 0, 1]])))
