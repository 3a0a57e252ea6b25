import argparse
import logging
import numpy as np
from tensorrtserver.api import InferContext, ServerStatusContext, ProtocolType
from tensorrtserver.api import model_config_pb2

logger = logging.getLogger(__name__)

TYPES = {
    model_config_pb2.TYPE_FP32: np.float32,
    model_config_pb2.TYPE_INT32: np.int32,
    model_config_pb2.TYPE_INT64: np.int64,
}


class TRTISClient(object):
    """Thin wrapper around the TRTIS python client so that we don't have to look at it."""

    def __init__(self, url, model_name, protocol='grpc', model_version=-1):
        self.url = url
        self.model_name = model_name
        self.protocol = ProtocolType.from_str(protocol)
        self.model_version = model_version
        self._ctx = None
        self._config = None

    @property
    def ctx(self):
        if self._ctx is None:
            self._ctx = InferContext(self.url, self.protocol, self.model_name, self.model_version)
        return self._ctx

    @property
    def config(self):
        if self._config is None:
            status_ctx = ServerStatusContext(self.url, self.protocol, self.model_name)
            status = status_ctx.get_server_status()
            self._config = status.model_status[self.model_name].config
        return self._config

    def input_names(self):
        return [i.name for i in self.config.input]

    def output_names(self):
        return [o.name for o in self.config.output]

    def predict(self, *arrays):
        inputs = {}
        for spec, array in zip(self.config.input, arrays):
            inputs[spec.name] = [np.asarray(array, dtype=TYPES[spec.data_type])]
        outputs = {name: InferContext.ResultFormat.RAW for name in self.output_names()}
        result = self.ctx.run(inputs, outputs, 1)
        logger.debug("done")
        return {name: result[name][0] for name in result}

    def close(self):
        if self._ctx is not None:
            self._ctx.close()
            self._ctx = None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-u', '--url')
    p.add_argument('-i', '--protocol')
    a = p.parse_args()
    client = TRTISClient(a.url, 'simple', a.protocol)
    print(client.input_names(), client.output_names())
    res = client.predict(range(16), [2] * 16)
    print('sum:', res['OUTPUT0'].tolist())
    print('diff:', res['OUTPUT1'].tolist())
    client.close()


if __name__ == '__main__':
    main()
