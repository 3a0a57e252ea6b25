#!/usr/bin/env python
import argparse
import sys
from tensorrtserver.api import *

FLAGS = None

def is_loaded(url, protocol, name):
    status_ctx = ServerStatusContext(url, protocol, name)
    try:
        status = status_ctx.get_server_status()
    except InferenceServerException:
        return False
    versions = status.model_status[name].version_status
    return any(v.ready_state == 1 for v in versions.values())


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    model_name = "spare"

    control_ctx = ModelControlContext(FLAGS.url, protocol, FLAGS.verbose)
    try:
        control_ctx.load(model_name)
    except InferenceServerException as ex:
        print("failed to load model " + model_name)
        sys.exit(1)
    print("loaded: {}".format(is_loaded(FLAGS.url, protocol, model_name)))

    ctx = InferContext(FLAGS.url, protocol, model_name, -1, FLAGS.verbose)
    out = ctx.run({'INPUT0': [np.array([1.5], dtype=np.float32)]},
                  {'OUTPUT0': InferContext.ResultFormat.RAW})
    print(out['OUTPUT0'][0].tolist())
    ctx.close()

    control_ctx.unload(model_name)
    print("unload was asked for")

    try:
        control_ctx.load("wrong_model_name")
        print("error: loaded a model that does not exist")
        sys.exit(1)
    except InferenceServerException as ex:
        print("expected failure")
