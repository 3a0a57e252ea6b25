# -*- coding: utf-8 -*-
"""Wrapper used by our web app"""
import logging
import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, ServerStatusContext, ServerHealthContext, InferenceServerException
import tensorrtserver.api.model_config_pb2 as model_config

log = logging.getLogger(__name__)

class TRTISClient(object):
    def __init__(self, url="localhost:8001", protocol="grpc", model_name="simple", model_version=None, verbose=False):
        self.url = url
        self.protocol = ProtocolType.from_str(protocol)
        self.model_name = model_name
        self.model_version = model_version
        self.verbose = verbose
        self.ctx = None
        self._parse()

    def _parse(self):
        status_ctx = ServerStatusContext(self.url, self.protocol, self.model_name, self.verbose)
        server_status = status_ctx.get_server_status()
        if self.model_name not in server_status.model_status:
            raise Exception("unable to get status for '" + self.model_name + "'")
        self.config = server_status.model_status[self.model_name].config
        self.input_names = [i.name for i in self.config.input]
        self.output_names = [o.name for o in self.config.output]
        self.max_batch_size = self.config.max_batch_size

    def is_alive(self):
        try:
            return ServerHealthContext(self.url, self.protocol, self.verbose).is_live()
        except InferenceServerException as e:
            log.error("not alive: %s", e)
            return False

    def connect(self):
        if self.ctx is None:
            self.ctx = InferContext(self.url, self.protocol, self.model_name, self.model_version, self.verbose)
        return self.ctx

    def predict(self, *arrays):
        ctx = self.connect()
        outputs = {name: InferContext.ResultFormat.RAW for name in self.output_names}
        inputs = dict(zip(self.input_names, [[a] for a in arrays]))
        try:
            return ctx.run(inputs, outputs, 1)
        except InferenceServerException as e:
            log.exception("failed")
            raise RuntimeError(e.message())

    def close(self):
        if self.ctx:
            self.ctx.close()
            self.ctx = None

if __name__ == '__main__':
    c = TRTISClient(sys.argv[2], sys.argv[4])
    print(c.is_alive(), c.input_names, c.output_names, c.max_batch_size,
          [model_config.DataType.Name(i.data_type) for i in c.config.input])
    r = c.predict(np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32))
    for k in sorted(r): print(k, r[k][0].tolist())
    c.close()
    d = TRTISClient(url=sys.argv[2], protocol=sys.argv[4], model_name="classify")
    print(d.input_names, d.max_batch_size)
