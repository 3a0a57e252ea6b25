#!/usr/bin/env python
import argparse
import queue
import numpy as np
from functools import partial
from tensorrtserver.api import *

class Job(object):
    def __init__(self, number):
        self.number = number
        self.error = None
        self.answer = None

def on_complete(jobs_done, job, infer_ctx, request_id):
    try:
        results = infer_ctx.get_async_run_results(request_id)
        job.answer = results['OUTPUT0'][0][0]
    except InferenceServerException as ex:
        job.error = ex
    jobs_done.put(job)

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    done = queue.Queue()
    ctx = InferContext(FLAGS.url, protocol, 'failing')
    numbers = [0, 1, 0, 2]
    for i, n in enumerate(numbers):
        job = Job(i)
        ctx.async_run(partial(on_complete, done, job), {'INPUT0': [np.array([n], dtype=np.float32)]},
                      {'OUTPUT0': InferContext.ResultFormat.RAW})
    finished = sorted([done.get(timeout=30) for _ in numbers], key=lambda j: j.number)
    for job in finished:
        print(job.number, 'failed' if job.error else job.answer)
    messages = [job.error.message() for job in finished if job.error is not None]
    print(all('refused value' in m for m in messages), len(messages))
