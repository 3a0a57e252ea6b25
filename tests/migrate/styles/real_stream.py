import argparse
import sys
from functools import partial
import numpy as np
from tensorrtserver.api import *
import queue

done = queue.Queue()


def callback(done, ctx, request_id):
    done.put((ctx, request_id))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str("gRPC")
    contexts = [InferContext(FLAGS.url, protocol, "sequence_sum", correlation_id=n + 8001, verbose=False, streaming=True)
                for n in range(2)]
    for value in range(4):
        flags = InferRequestHeader.FLAG_NONE
        if value == 0:
            flags = InferRequestHeader.FLAG_SEQUENCE_START
        if value == 3:
            flags = InferRequestHeader.FLAG_SEQUENCE_END
        for ctx in contexts:
            ctx.async_run(partial(callback, done), {'INPUT': [np.array([value], dtype=np.int32)]},
                          {'OUTPUT': InferContext.ResultFormat.RAW}, batch_size=1, flags=flags)
    got = {id(ctx): [] for ctx in contexts}
    for _ in range(8):
        ctx, request_id = done.get()
        got[id(ctx)].append(int(ctx.get_async_run_results(request_id)['OUTPUT'][0][0]))
    print([got[id(ctx)] for ctx in contexts])
    sys.exit(0)
