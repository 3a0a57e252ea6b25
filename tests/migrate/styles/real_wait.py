#!/usr/bin/env python3
"""docker-compose helper: block until TRTIS and the models are ready.

usage: wait_for_trtis.py -u host:port -i http MODEL [MODEL ...]
"""
from tensorrtserver.api import *
import argparse
import time
import tensorrtserver.api.server_status_pb2 as server_status

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url', default='localhost:8000')
parser.add_argument('-i', '--protocol', default='http')
parser.add_argument('-t', '--timeout', type=float, default=20)
parser.add_argument('models', nargs='*', default=['simple', 'multi_version'])
args = parser.parse_args()


def poll(what, f, timeout):
    deadline = time.time() + timeout
    while True:
        try:
            if f():
                print("[wait] %s: ok" % what)
                return True
        except InferenceServerException as e:
            sys.stderr.write("[wait] %s: %s\n" % (what, e))
        if time.time() >= deadline:
            print("[wait] %s: gave up" % what)
            return False
        time.sleep(0.1)


def model_ready(name):
    status = status_ctx.get_server_status()
    if status.ready_state != server_status.SERVER_READY:
        return False
    if name not in status.model_status:
        return False
    versions = status.model_status[name].version_status
    for v in sorted(versions):
        print("   {} v{} {}".format(name, v, server_status.ModelReadyState.Name(versions[v].ready_state)))
    return any(s.ready_state == server_status.MODEL_READY for s in versions.values())


protocol = ProtocolType.from_str(args.protocol)
health_ctx = ServerHealthContext(args.url, protocol)
status_ctx = ServerStatusContext(args.url, protocol)
ok = poll("live", health_ctx.is_live, args.timeout)
ok = ok and poll("ready", lambda: health_ctx.is_ready(), args.timeout)
for m in args.models:
    ok = poll("model " + m, lambda: model_ready(m), args.timeout) and ok
ok2 = poll("model never_there", lambda: model_ready("never_there"), 0)
os._exit(3) if ok2 else sys.exit(0 if ok else 1)
