import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType


class Scorer(InferContext):
    """A context that knows its model."""

    def __init__(self, url, protocol, model_name="identity_fp32", verbose=False):
        super(Scorer, self).__init__(url, protocol, model_name, -1, verbose)
        self.model_name = model_name

    def score(self, row):
        result = self.run({"INPUT0": [row.astype(np.float32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
        return result["OUTPUT0"][0]


scorer = Scorer(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
print(scorer.model_name, scorer.score(np.arange(5)).tolist())
scorer.close()
