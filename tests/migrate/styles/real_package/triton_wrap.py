from tensorrtserver.api import *


class Client(object):
    def __init__(self, config):
        self._model = config["model"]
        self._output = config["output"]
        protocol = ProtocolType.from_str(config["protocol"])
        self._context = InferContext(config["url"], protocol, self._model, config.get("version", -1))

    def infer(self, arrays):
        result = self._context.run({config_input(self._model): arrays}, {self._output: InferContext.ResultFormat.RAW}, len(arrays))
        return result[self._output]

    def close(self):
        self._context.close()


def config_input(model):
    return "INPUT0" if model.startswith("identity") else "INPUT"


def ready(url, protocol):
    return ServerHealthContext(url, ProtocolType.from_str(protocol)).is_ready()
