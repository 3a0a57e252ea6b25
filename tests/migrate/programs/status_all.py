#!/usr/bin/env python3
"""nagios style check of all models"""
import sys
from tensorrtserver.api import *
from tensorrtserver.api import server_status_pb2 as ss

wanted = {'simple', 'classify', 'multi_version'}
ctx = ServerStatusContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
status = ctx.get_server_status()
print('server', ss.ServerReadyState.Name(status.ready_state))
bad = 0
for name, model in sorted(status.model_status.items()):
    if name not in wanted:
        continue
    for version, v in sorted(model.version_status.items()):
        state = ss.ModelReadyState.Name(v.ready_state)
        print(name, version, state)
        bad += v.ready_state != ss.ModelReadyState.Value('MODEL_READY')
    cfg = model.config
    print('  ', cfg.name, cfg.platform, cfg.max_batch_size, [i.name for i in cfg.input], [tuple(o.dims) for o in cfg.output])
sys.exit(2 if bad else 0)
