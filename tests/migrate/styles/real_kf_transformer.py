# A transformer of a serving platform, which talks to the predictor's Triton.
import json
import os
import numpy as np
from tensorrtserver.api import *


class KFModel(object):
    def __init__(self, name):
        self.name = name
        self.ready = False


class BertTransformer(KFModel):
    def __init__(self, name, predictor_host):
        super().__init__(name)
        self.short_paragraph_text = "The Apollo program was the third United States human spaceflight program."
        self.predictor_host = predictor_host
        self.model_name = "simple_string"
        self.triton_host = predictor_host
        self.model_version = -1
        self.protocol = ProtocolType.from_str(os.environ.get("TRTIS_PROTOCOL", "http"))
        self.infer_ctx = None

    def preprocess(self, inputs):
        self.doc_tokens = [str(n).encode("utf-8") for n in inputs["instances"][0]]
        return self.doc_tokens

    def predict(self, features):
        if not self.infer_ctx:
            self.infer_ctx = InferContext(self.triton_host, self.protocol, self.model_name, self.model_version,
                                          http_headers='', verbose=False)
        batch_size = 1
        unique_ids = np.array(features, dtype=object)
        segment_ids = np.array([b"1"] * len(features), dtype=object)
        result = self.infer_ctx.run({'INPUT0': (unique_ids,), 'INPUT1': (segment_ids,)},
                                    {'OUTPUT0': InferContext.ResultFormat.RAW,
                                     'OUTPUT1': InferContext.ResultFormat.RAW}, batch_size)
        return result

    def postprocess(self, result):
        end_logits = result['OUTPUT0'][0]
        start_logits = result['OUTPUT1'][0]
        return {"predictions": [x.decode('utf-8') for x in end_logits], "n_best": [int(x) for x in start_logits]}


if __name__ == "__main__":
    transformer = BertTransformer("bert", os.environ["TRTIS_URL"])
    for start in (0, 5):
        features = transformer.preprocess({"instances": [list(range(start, start + 16))]})
        print(json.dumps(transformer.postprocess(transformer.predict(features))))
