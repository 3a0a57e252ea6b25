import queue
import sys
from functools import partial
import numpy as np
from tensorrtserver.api import *


def finished(done, ctx, request_id):
    done.put(request_id)


def received(done, ctx):
    request_id = done.get()
    return request_id, ctx.get_async_run_results(request_id)["OUTPUT0"][0].tolist()


ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int32")
done, later, answers = queue.Queue(), queue.Queue(), {}
for n in range(8):
    inputs = {"INPUT0": [np.array([n], np.int32)]}
    ctx.async_run(partial(finished, done), inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})
    ctx.async_run(partial(finished, later), inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})
for _ in range(8):
    request_id = done.get()
    answers[request_id] = ctx.get_async_run_results(request_id)["OUTPUT0"][0].tolist()
print([answers[request_id] for request_id in sorted(answers)])
print([values for _, values in sorted([received(later, ctx) for _ in range(8)])])
