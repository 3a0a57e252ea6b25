import argparse
import threading
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType

class Worker(threading.Thread):
    def __init__(self, number, url, protocol, out):
        threading.Thread.__init__(self)
        self.number = number
        self.out = out
        # contexts are not thread safe, everybody needs an own one
        self.ctx = InferContext(url, protocol, 'simple', -1, False)

    def run(self):
        a = np.full(16, self.number, dtype=np.int32)
        b = np.arange(16, dtype=np.int32)
        for _ in range(5):
            result = self.ctx.run({'INPUT0': [a], 'INPUT1': [b]},
                                  {'OUTPUT0': InferContext.ResultFormat.RAW,
                                   'OUTPUT1': InferContext.ResultFormat.RAW}, 1)
            self.out[self.number] = (int(result['OUTPUT0'][0][3]), int(result['OUTPUT1'][0][3]))
        self.ctx.close()

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', default='localhost:8000')
    parser.add_argument('-i', '--protocol', default='http')
    args = parser.parse_args()
    protocol = ProtocolType.from_str(args.protocol)
    out = {}
    workers = [Worker(i, args.url, protocol, out) for i in range(4)]
    for w in workers: w.start()
    for w in workers: w.join()
    for i in sorted(out):
        print(i, out[i])
