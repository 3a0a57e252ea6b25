"""Asynchronous load: a window of outstanding requests, latencies, errors that are counted."""
import argparse
import queue
import time
from functools import partial

import numpy as np
from tensorrtserver.api import *

completed = queue.Queue()


def on_completion(started, index, infer_ctx, request_id):
    completed.put((infer_ctx, request_id, index, time.time() - started))


def take(results):
    infer_ctx, request_id, index, seconds = completed.get()
    try:
        output = infer_ctx.get_async_run_results(request_id)
        results[index] = int(output["OUTPUT0"][0][0])
    except InferenceServerException as ex:
        results[index] = "error"
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url", type=str, default="localhost:8001")
    parser.add_argument("-i", "--protocol", type=str, default="grpc")
    parser.add_argument("-n", "--requests", type=int, default=12)
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    ctx = InferContext(FLAGS.url, protocol, "simple", -1, False)
    results, latencies, outstanding = {}, [], 0
    row = np.zeros(16, dtype=np.int32)
    for n in range(FLAGS.requests):
        row[0] = n
        ctx.async_run(partial(on_completion, time.time(), n),
                      {"INPUT0": [row], "INPUT1": [np.ones(16, np.int32)]},
                      {"OUTPUT0": InferContext.ResultFormat.RAW}, batch_size=1)
        outstanding += 1
        while outstanding > 3:
            latencies.append(take(results))
            outstanding -= 1
    while outstanding:
        latencies.append(take(results))
        outstanding -= 1
    print(sorted(results.items()))
    print(len(latencies), all(0 <= x < 60 for x in latencies))


if __name__ == "__main__":
    main()
