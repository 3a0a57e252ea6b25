import sys
from tensorrtserver.api import *


class Context(InferContext):
    def __init__(self, url, protocol, name, version=None, http_headers=[], verbose=False, correlation_id=0, streaming=False):
        InferContext.__init__(self, url, protocol, name, version, verbose, correlation_id, streaming, http_headers)
        self.name = name

    def run(self, inputs, outputs, batch_size=1, **options):
        print("request of", self.name)
        return InferContext.run(self, inputs, outputs, batch_size, **options)

    def close(self):
        if self._ctx is not None:
            print("closing", self.name)
        super(Context, self).close()


with Context(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_fp32", correlation_id=7) as c:
    r = c.run({"INPUT0": [np.ones(3, np.float32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
    print(r["OUTPUT0"][0].tolist(), c.correlation_id())
