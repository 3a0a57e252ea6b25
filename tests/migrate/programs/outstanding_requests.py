# Keeps a number of requests outstanding and collects their results from a queue.
import argparse
import collections
import sys
import time
import threading
from functools import partial
if sys.version_info >= (3, 0):
    import queue
else:
    import Queue as queue
import numpy as np
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--trtis_server_url', default='localhost:8001')
parser.add_argument('--trtis_model_name', default='simple')
parser.add_argument('--trtis_model_version', type=int, default=-1)
parser.add_argument('-i', '--protocol', default='grpc')
parser.add_argument('--batch_size', type=int, default=2)
parser.add_argument('--verbose', action='store_true')
FLAGS = parser.parse_args()

RawResult = collections.namedtuple("RawResult", ["unique_id", "start_logits", "end_logits"])


class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()


def completion_callback(user_data, idx, start_time, inputs, infer_ctx, request_id):
    user_data._completed_requests.put((infer_ctx, request_id, idx, start_time, inputs))


def process_result(results, idx, all_results, recv):
    for i in range(len(results['OUTPUT0'])):
        all_results[(idx, i)] = RawResult(unique_id=(idx, i),
                                          start_logits=results["OUTPUT0"][i].tolist(),
                                          end_logits=results["OUTPUT1"][i].tolist())
    recv.append(idx)


def main():
    protocol = ProtocolType.from_str(FLAGS.protocol)
    ctx = InferContext(FLAGS.trtis_server_url, protocol, FLAGS.trtis_model_name,
                       FLAGS.trtis_model_version, FLAGS.verbose)
    status_ctx = ServerStatusContext(FLAGS.trtis_server_url, protocol, FLAGS.trtis_model_name, FLAGS.verbose)
    server_status = status_ctx.get_server_status()
    if FLAGS.trtis_model_name not in server_status.model_status:
        raise Exception("unable to get status for '" + FLAGS.trtis_model_name + "'")
    config = server_status.model_status[FLAGS.trtis_model_name].config
    print("max batch", config.max_batch_size, [i.name for i in config.input])
    user_data = UserData()
    max_outstanding = 20
    sent_count = 0
    all_results = {}
    recv = []
    outstanding = {}

    for idx in range(30):
        a = [np.arange(16, dtype=np.int32) + idx + i for i in range(FLAGS.batch_size)]
        b = [np.ones(16, dtype=np.int32) * i for i in range(FLAGS.batch_size)]
        inputs_dict = {'INPUT0': a, 'INPUT1': b}
        outputs_dict = {'OUTPUT0': InferContext.ResultFormat.RAW, 'OUTPUT1': InferContext.ResultFormat.RAW}
        present_time = time.time()
        ctx.async_run(partial(completion_callback, user_data, idx, present_time, inputs_dict),
                      inputs_dict, outputs_dict, batch_size=FLAGS.batch_size)
        outstanding[idx] = 1
        sent_count += 1
        while len(outstanding) > max_outstanding:
            (infer_ctx, request_id, i, start, inputs) = user_data._completed_requests.get()
            result = infer_ctx.get_async_run_results(request_id, wait=True)
            process_result(result, i, all_results, recv)
            del outstanding[i]
    while outstanding:
        (infer_ctx, request_id, i, start, inputs) = user_data._completed_requests.get()
        result = infer_ctx.get_async_run_results(request_id, True)
        process_result(result, i, all_results, recv)
        del outstanding[i]
    print(sent_count, sorted(recv) == list(range(30)))
    for key in sorted(all_results)[:4]:
        print(key, all_results[key].start_logits[:3], all_results[key].end_logits[:3])


if __name__ == '__main__':
    main()
