import argparse
import threading
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType

class Pipeline(object):
    """Several threads send to one context; a callback collects what comes."""

    def __init__(self, url, protocol):
        self.ctx = InferContext(url, protocol, 'identity_int32')
        self.lock = threading.Condition()
        self.pending = 0
        self.sums = []

    def collect(self, ctx, request_id):
        output = ctx.get_async_run_results(request_id)['OUTPUT0'][0]
        with self.lock:
            self.sums.append(int(output.sum()))
            self.pending -= 1
            self.lock.notify_all()

    def submit(self, first):
        for value in range(first, first + 3):
            with self.lock:
                self.pending += 1
            data = np.full(4, value, dtype=np.int32)
            self.ctx.async_run(self.collect, {'INPUT0': [data]},
                               {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', default='localhost:8000')
    parser.add_argument('-i', '--protocol', default='http')
    args = parser.parse_args()
    pipeline = Pipeline(args.url, ProtocolType.from_str(args.protocol))
    threads = [threading.Thread(target=pipeline.submit, args=(10 * n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pipeline.lock:
        while pipeline.pending:
            pipeline.lock.wait(1)
    print(sorted(pipeline.sums))
