#!/usr/bin/env python
# wait until a model has been loaded, by looking at its versions
from __future__ import print_function
import sys
import time
import tensorrtserver.api.server_status_pb2 as server_status
from tensorrtserver.api import (InferContext, InferenceServerException, ModelControlContext,
                                ProtocolType, ServerStatusContext)

url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])


def ready_versions(model):
    ctx = ServerStatusContext(url, protocol, model)
    try:
        status = ctx.get_server_status()
        found = []
        for version, state in sorted(status.model_status[model].version_status.items()):
            if state.ready_state == server_status.MODEL_READY:
                found.append(version)
        return found
    except InferenceServerException as ex:
        print('no status of', model, '(%s)' % ex.server_id())
        return []


def main():
    control = ModelControlContext(url, protocol)
    control.load('simple')
    for _ in range(20):
        if ready_versions('simple'):
            break
        time.sleep(0.2)
    print('versions', ready_versions('simple'), ready_versions('no_such_model'))
    for model in ('simple', 'no_such_model'):
        try:
            control.load(model)
            print('loaded', model)
        except Exception as e:
            print('not loaded', model, len(e.message()) > 0, e.server_id())
    every = ServerStatusContext(url, protocol).get_server_status()
    print(server_status.ServerReadyState.Name(every.ready_state))
    names = [name for name, model in every.model_status.items()
             if any(v.ready_state == 1 for v in model.version_status.values())]
    print(sorted(names)[:3], every.id)
    try:
        InferContext(url, protocol, 'no_such_model')
    except InferenceServerException as ex:
        print('unknown model:', 'no_such_model' in ex.message())


if __name__ == '__main__':
    main()
