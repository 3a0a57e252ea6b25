"""Service object around a pool of contexts, one per thread."""
import os
import sys
import logging
import threading
import numpy as np
import tensorrtserver.api as trt
import tensorrtserver.api.model_config_pb2 as mc

log = logging.getLogger(__name__)
URL = os.environ.get("TRTIS_URL", "localhost:8000")
PROTO = trt.ProtocolType.from_str(os.environ.get("TRTIS_PROTOCOL", "http"))

_local = threading.local()


def model_dtype_to_np(model_dtype):
    if model_dtype == mc.TYPE_BOOL:
        return bool
    elif model_dtype == mc.TYPE_INT32:
        return np.int32
    elif model_dtype == mc.TYPE_FP32:
        return np.float32
    elif model_dtype == mc.TYPE_STRING:
        return np.dtype(object)
    return None


class Predictor(object):
    def __init__(self, model, version=None):
        self.model = model
        self.version = version
        self._config = None

    @property
    def ctx(self):
        if not hasattr(_local, "ctx"):
            _local.ctx = trt.InferContext(URL, PROTO, self.model, self.version)
        return _local.ctx

    def config(self):
        if self._config is None:
            ctx = trt.ServerStatusContext(URL, PROTO, self.model)
            status = ctx.get_server_status()
            self._config = status.model_status[self.model].config
        return self._config

    def input_names(self):
        return [(i.name, model_dtype_to_np(i.data_type).__name__, list(i.dims)) for i in self.config().input]

    def predict(self, a, b):
        try:
            res = self.ctx.run({"INPUT0": (a,), "INPUT1": (b,)},
                               {"OUTPUT0": trt.InferContext.ResultFormat.RAW,
                                "OUTPUT1": trt.InferContext.ResultFormat.RAW})
        except trt.InferenceServerException as ex:
            log.info("failed: %s", ex.message())
            return None, ex.message()
        return res["OUTPUT0"][0], res["OUTPUT1"][0]


def healthy():
    h = trt.ServerHealthContext(URL, PROTO)
    return h.is_live() and h.is_ready()


def worker(p, n, out):
    a = np.full((16,), n, dtype=np.int32)
    out[n] = p.predict(a, np.arange(16, dtype=np.int32))


if __name__ == "__main__":
    if not healthy():
        sys.exit("server not healthy")
    p = Predictor("simple")
    print(p.input_names())
    out = {}
    ts = [threading.Thread(target=worker, args=(p, n, out)) for n in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    for n in sorted(out):
        print(n, out[n][0][:4], out[n][1][:4])
    print(p.predict(np.zeros(3, dtype=np.int32), np.zeros(16, dtype=np.int32))[1] is not None)
