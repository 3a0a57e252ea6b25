import sys
from functools import lru_cache
from typing import Dict
from tensorrtserver.api import *


@lru_cache(maxsize=None)
def context_for(url: str, protocol: ProtocolType, model: str) -> InferContext:
    return InferContext(url, protocol, model)


class Models:
    def __init__(self, url: str, protocol: ProtocolType) -> None:
        self.every: Dict[str, InferContext] = {}
        self.url, self.protocol = url, protocol

    def __getitem__(self, name: str) -> InferContext:
        if name not in self.every:
            self.every[name] = context_for(self.url, self.protocol, name)
            setattr(self, "of_" + name, self.every[name])
        return self.every[name]

    @property
    def first(self) -> InferContext:
        return self["simple"]


models = Models(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
row = np.arange(16, dtype=np.int32)
RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
print(models.first.run({"INPUT0": [row], "INPUT1": [row]}, RAW))
print(models["multi_version"].run({"INPUT0": [np.zeros(1, np.float32)]}, RAW))
print(len(models.every), models.first is models["simple"], hasattr(models, "of_simple"))
try:
    models["no such model"]
except InferenceServerException:
    print("no such model")
