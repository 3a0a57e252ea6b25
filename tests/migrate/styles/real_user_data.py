# A BERT-style client: completion callbacks, a queue, outstanding requests and timing.
import argparse
import numpy as np
import time
from functools import partial
import sys
if sys.version_info >= (3, 0):
    import queue
else:
    import Queue as queue
from tensorrtserver.api import *
import tensorrtserver.api.model_config_pb2 as model_config


class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()


# Callback function used for async_run()
def completion_callback(user_data, idx, start_time, inputs, infer_ctx, request_id):
    user_data._completed_requests.put((infer_ctx, request_id, idx, start_time, inputs))


def batch(iterable, n=1):
    l = len(iterable)
    for ndx in range(0, l, n):
        label_ids_data = ()
        input_ids_data = ()
        for i in range(0, min(n, l - ndx)):
            label_ids_data = label_ids_data + (np.array([iterable[ndx + i]], dtype=np.int32),)
            input_ids_data = input_ids_data + (np.arange(iterable[ndx + i], iterable[ndx + i] + 16, dtype=np.int32),)
        inputs_dict = {"INPUT0": input_ids_data, "INPUT1": input_ids_data}
        yield inputs_dict, label_ids_data


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument("--trtserver_model_name", default='simple', type=str)
    parser.add_argument("--trtserver_model_version", default=-1, type=int)
    parser.add_argument("-u", "--trtserver_url", type=str, default='localhost:8001')
    parser.add_argument("-i", "--protocol", type=str, default='grpc')
    parser.add_argument("--predict_batch_size", default=3, type=int)
    args = parser.parse_args()

    protocol_str = args.protocol
    protocol = ProtocolType.from_str(protocol_str)
    url = args.trtserver_url
    verbose = False
    model_name = args.trtserver_model_name
    model_version = args.trtserver_model_version
    batch_size = args.predict_batch_size

    print("Server:", "up")
    health_ctx = ServerHealthContext(url, protocol, http_headers=None, verbose=verbose)
    print("Health for model {}".format(model_name))
    print("Live: {}".format(health_ctx.is_live()))
    print("Ready: {}".format(health_ctx.is_ready()))

    status_ctx = ServerStatusContext(url, protocol, model_name, None, verbose)
    config = status_ctx.get_server_status().model_status[model_name].config
    print("Inputs:", [i.name for i in config.input])

    infer_ctx = InferContext(url, protocol, model_name, model_version, http_headers=None, verbose=verbose)

    outstanding = {}
    max_outstanding = 4
    sent_prog = 0
    recv_prog = 0
    recv_count = 0
    all_results = {}
    time_list = []
    user_data = UserData()

    def process_outstanding(do_wait):
        global recv_count
        if len(outstanding) == 0:
            return False
        (infer_ctx, request_id, idx, start_time, inputs) = user_data._completed_requests.get(do_wait)
        result = infer_ctx.get_async_run_results(request_id)
        stop = time.time()
        if result is None:
            return False
        outstanding.pop(idx)
        time_list.append(stop - start_time)
        batch_count = len(inputs["INPUT0"])
        for i in range(batch_count):
            all_results[idx * batch_size + i] = (result["OUTPUT0"][i].flat[0], result["OUTPUT1"][i].tolist()[0])
        recv_count += batch_count
        return True

    idx = 0
    for inputs_dict, label_ids in batch(list(range(7)), batch_size):
        present_batch_size = len(label_ids)
        outputs_dict = {"OUTPUT0": InferContext.ResultFormat.RAW, "OUTPUT1": InferContext.ResultFormat.RAW}
        start_time = time.time()
        outstanding[idx] = start_time
        infer_ctx.async_run(partial(completion_callback, user_data, idx, start_time, inputs_dict),
                            inputs_dict, outputs_dict, batch_size=present_batch_size)
        sent_prog += 1
        idx += 1
        if len(outstanding) > max_outstanding:
            process_outstanding(do_wait=True)

    while len(outstanding) > 0:
        process_outstanding(do_wait=True)

    print("received", recv_count, "of", idx, "batches")
    for key in sorted(all_results):
        print(key, all_results[key])
    time_avg = np.mean(time_list)
    print("Average sane:", 0 < time_avg < 60, "%d measured" % len(time_list))
