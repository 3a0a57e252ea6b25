"""Evaluation over a data set: batches, the last one short, numpy over the list of results."""
import argparse
import json
import os
from time import perf_counter

import numpy as np
from tensorrtserver.api import *


def get_data_batches(data, batch_size):
    for start in range(0, len(data), batch_size):
        yield data[start:start + batch_size]


def run_inference(args, flags):
    protocol = ProtocolType.from_str(args.triton_protocol)
    ctx = InferContext(args.triton_server_url, protocol, args.triton_model_name, args.model_version,
                       http_headers=None, verbose=False)
    rng = np.random.RandomState(7)
    samples = rng.rand(11, 10)
    results = []
    latencies = []
    for batch in get_data_batches(samples, args.batch_size):
        data_frame = batch.astype(np.float32)
        t0 = perf_counter()
        result = ctx.run({"INPUT0": [row for row in data_frame]},
                         {"OUTPUT0": InferContext.ResultFormat.RAW},
                         data_frame.shape[0])
        latencies.append(perf_counter() - t0)
        results += result["OUTPUT0"]
    stacked = np.stack(results)
    print(stacked.shape, stacked.dtype, round(float(np.array(results).sum()), 3))
    classes = InferContext(args.triton_server_url, protocol, "classify")
    top = classes.run({"INPUT": tuple(samples[:2].astype(np.float32))},
                      {"OUTPUT": (InferContext.ResultFormat.CLASS, 1)}, batch_size=2)
    for index, value, label in [best[0] for best in top["OUTPUT"]]:
        print(index, "{:.3f}".format(value), label)
    if flags:
        stat = ctx.get_stat()
        average = stat["cumulative_total_request_time_ns"] / stat["completed_request_count"]
        print(stat["completed_request_count"], average > 0)
    print("p90 sane", np.percentile(latencies, 90) < 60)
    return stacked


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--triton-server-url", type=str, required=True)
    parser.add_argument("-i", "--triton-protocol", type=str, default="http")
    parser.add_argument("--triton-model-name", type=str, default="identity_fp32")
    parser.add_argument("--model-version", type=int, default=-1)
    parser.add_argument("--batch-size", type=int, default=4)
    run_inference(parser.parse_args(), True)
