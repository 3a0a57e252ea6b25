import queue
import sys
from functools import partial
import numpy as np
from tensorrtserver.api import *

OUTPUT = "OUTPUT0"
done = queue.Queue()


def finished(number, ctx, request_id):
    done.put((number, request_id))


ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_string")
text = np.array([b"a", b"bc"], dtype=object)
ctx.async_run(partial(finished, 1), {"INPUT0": [text]}, {OUTPUT: InferContext.ResultFormat.RAW}, 1)
number, request_id = done.get()
got = ctx.get_async_run_results(request_id)
print(number, got[OUTPUT][0].tolist())
