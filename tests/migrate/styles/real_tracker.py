"""Detection and tracking: several models in one pipeline, a base class and two children."""
import argparse
import time
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, ServerStatusContext, InferenceServerException


class TRTISModel(object):
    """Base of the models."""

    def __init__(self, model_name, url="localhost:8001", protocol="grpc", batch_size=1, verbose=False):
        self.model_name = model_name
        self.batch_size = batch_size
        protocol = ProtocolType.from_str(protocol)
        self.ctx = InferContext(url, protocol, model_name, None, verbose)
        status = ServerStatusContext(url, protocol, model_name, verbose).get_server_status()
        config = status.model_status[model_name].config
        self.input_name = config.input[0].name
        self.output_names = [o.name for o in config.output]
        self.shape = list(config.input[0].dims)

    def prepare(self, frame):
        raise NotImplementedError

    def __call__(self, frames):
        inputs = [self.prepare(f) for f in frames]
        output_dict = {name: InferContext.ResultFormat.RAW for name in self.output_names}
        t0 = time.time()
        result = self.ctx.run({self.input_name: inputs}, output_dict, batch_size=len(inputs))
        self.elapsed = time.time() - t0
        return self.finish(result)

    def finish(self, result):
        return [np.array(result[name]) for name in self.output_names]

    def __del__(self):
        if getattr(self, "ctx", None):
            self.ctx.close()


class Detector(TRTISModel):
    def prepare(self, frame):
        return np.ascontiguousarray(frame, dtype=np.float32).reshape(self.shape)


class Embedder(TRTISModel):
    def prepare(self, frame):
        return frame.astype(np.float32).flatten()

    def finish(self, result):
        boxes, = super(Embedder, self).finish(result)
        return boxes / np.linalg.norm(boxes, axis=1, keepdims=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("-u", "--url", required=True)
    ap.add_argument("-i", "--protocol", default="grpc")
    args = vars(ap.parse_args())
    detector = Detector("tensor_names", args["url"], args["protocol"])
    embedder = Embedder("identity_fp32", url=args["url"], protocol=args["protocol"], batch_size=2)
    frames = [np.arange(4) + n for n in range(3)]
    first, second = detector(frames)
    print(first.shape, second.tolist(), detector.elapsed > 0)
    print(np.round(embedder([row for row in first]), 3).tolist())
    try:
        Detector("nothing_there", args["url"], args["protocol"])
    except InferenceServerException as e:
        print("no such model")
