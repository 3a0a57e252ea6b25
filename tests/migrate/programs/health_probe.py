#!/usr/bin/env python3
"""Kubernetes readiness probe for the TensorRT inference server.

Exit codes: 0 ready, 1 not ready, 2 not reachable.
"""
import os
import sys

from tensorrtserver.api import InferenceServerException, ProtocolType, ServerHealthContext


def probe(url, protocol):
    with ServerHealthContext(url, protocol) as health:
        live = health.is_live()
        ready = health.is_ready()
    print('live={} ready={}'.format(live, ready))
    return live and ready


if __name__ == '__main__':
    protocol = ProtocolType.from_str(os.getenv('PROTOCOL', 'http'))
    try:
        ok = probe(os.getenv('SERVER', 'localhost:8000'), protocol)
    except InferenceServerException as e:
        print('unreachable')
        sys.exit(2)
    sys.exit(0 if ok else 1)
