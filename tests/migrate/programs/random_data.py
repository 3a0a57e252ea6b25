#!/usr/bin/env python
# Sends zeros of the right shape and type to any model and tells what comes back.
import argparse
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.api.model_config_pb2 as model_config

def np_type(data_type):
    return {
        model_config.TYPE_BOOL: np.bool_,
        model_config.TYPE_UINT8: np.uint8,
        model_config.TYPE_INT32: np.int32,
        model_config.TYPE_INT64: np.int64,
        model_config.TYPE_FP16: np.float16,
        model_config.TYPE_FP32: np.float32,
        model_config.TYPE_FP64: np.float64,
        model_config.TYPE_STRING: np.object_,
    }[data_type]

def main(FLAGS):
    protocol = ProtocolType.from_str(FLAGS.protocol)
    for model_name in FLAGS.models.split(','):
        server_status_ctx = ServerStatusContext(FLAGS.url, protocol, model_name, FLAGS.verbose)
        server_status = server_status_ctx.get_server_status()
        config = server_status.model_status[model_name].config
        batch_size = 2 if config.max_batch_size > 1 else 1
        inputs = {}
        for i in config.input:
            shape = [3 if d == -1 else d for d in i.dims]
            dtype = np_type(i.data_type)
            if i.data_type == model_config.TYPE_STRING:
                tensor = np.full(shape, '0', dtype=dtype)
            else:
                tensor = np.zeros(shape, dtype=dtype)
            inputs[i.name] = [tensor for b in range(batch_size)]
        outputs = {}
        for o in config.output:
            outputs[o.name] = InferContext.ResultFormat.RAW
        ctx = InferContext(FLAGS.url, protocol, model_name, FLAGS.model_version, FLAGS.verbose)
        results = ctx.run(inputs, outputs, batch_size)
        for name in sorted(results):
            first = results[name][0]
            print(model_name, name, first.dtype, first.shape, len(results[name]))
        del ctx

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action='store_true', default=False)
    parser.add_argument('-u', '--url', type=str, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, default='http')
    parser.add_argument('-m', '--models', type=str, default='simple,identity_bool,identity_fp16,identity_uint8,simple_nobatch,simple_string')
    parser.add_argument('-x', '--model-version', type=int, default=-1)
    main(parser.parse_args())
