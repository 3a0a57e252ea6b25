"""A client class as services have it: made once, asked often."""
import argparse
import logging

import numpy as np
from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType, ServerHealthContext

log = logging.getLogger(__name__)


class Detector(object):
    def __init__(self, url, protocol, model_name="identity_fp32", model_version=-1, verbose=False):
        self.url = url
        self.protocol = ProtocolType.from_str(protocol)
        self.model_name = model_name
        self.model_version = model_version
        self.verbose = verbose
        self.batch_size = 4
        self.ctx = None

    def connect(self):
        if self.ctx is None:
            self.ctx = InferContext(self.url, self.protocol, self.model_name, self.model_version, self.verbose)

    def healthy(self):
        health = ServerHealthContext(self.url, self.protocol, http_headers=None, verbose=False)
        return health.is_live() and health.is_ready()

    def preprocess(self, image):
        return ((image - image.mean()) / 255.0).astype(np.float32).ravel()

    def detect(self, images):
        self.connect()
        scores = []
        for start in range(0, len(images), self.batch_size):
            batch = [self.preprocess(image) for image in images[start:start + self.batch_size]]
            try:
                result = self.ctx.run({"INPUT0": batch}, {"OUTPUT0": InferContext.ResultFormat.RAW}, len(batch))
            except InferenceServerException as ex:
                log.error("inference failed: %s", ex)
                raise
            for n in range(len(result["OUTPUT0"])):
                scores.append(float(np.round(result["OUTPUT0"][n].max(), 4)))
        return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url")
    parser.add_argument("-i", "--protocol")
    flags = parser.parse_args()
    detector = Detector(flags.url, flags.protocol)
    print(detector.healthy())
    pictures = [np.arange(12).reshape(3, 4) * (n + 1) for n in range(6)]
    print(detector.detect(pictures))
