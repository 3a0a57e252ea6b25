#!/usr/bin/env python
# prints what the server knows about one model
import argparse, sys
from tensorrtserver.api import *
import tensorrtserver.api.server_status_pb2 as server_status
import tensorrtserver.api.model_config_pb2 as model_config

parser = argparse.ArgumentParser(description='Dump the status of a model')
parser.add_argument('model')
parser.add_argument('-u', '--url', default='localhost:8000')
parser.add_argument('-i', '--protocol', default='http')
parser.add_argument('-v', '--verbose', action='store_true')
args = parser.parse_args()

status_ctx = ServerStatusContext(args.url, ProtocolType.from_str(args.protocol), args.model, args.verbose)
status = status_ctx.get_server_status()
if status.ready_state != server_status.SERVER_READY:
    print("server is not ready")
    sys.exit(1)
if args.model not in status.model_status:
    print("no such model"); sys.exit(1)

model = status.model_status[args.model]
config = model.config
print("Model: %s (max batch size %d)" % (config.name, config.max_batch_size))
for i in config.input:
    print("  in  %-10s %-12s %s" % (i.name, model_config.DataType.Name(i.data_type), list(i.dims)))
for o in config.output:
    print("  out %-10s %-12s %s" % (o.name, model_config.DataType.Name(o.data_type), list(o.dims)))
    if o.label_filename:
        print("      labels: " + o.label_filename)
for version in sorted(model.version_status):
    vs = model.version_status[version]
    if vs.ready_state == server_status.MODEL_READY:
        print("  version", version, "is ready")
    else:
        print("  version", version, server_status.ModelReadyState.Name(vs.ready_state))
