#!/usr/bin/env python
# The same request over HTTP and gRPC must give the same answer.
import os
import numpy as np
from tensorrtserver.api import *

HTTP_URL = os.environ.get('HTTP_URL', 'localhost:8000')
GRPC_URL = os.environ.get('GRPC_URL', 'localhost:8001')

answers = []
for url, protocol in ((HTTP_URL, ProtocolType.HTTP), (GRPC_URL, ProtocolType.GRPC)):
    health = ServerHealthContext(url, protocol)
    assert health.is_live() and health.is_ready()
    ctx = InferContext(url, protocol, 'simple', None, True and False)
    a, b = np.arange(16, dtype=np.int32), np.full((16,), 3, dtype=np.int32)
    result = ctx.run({'INPUT0': (a, b), 'INPUT1': (b, a)},
                     {'OUTPUT1': InferContext.ResultFormat.RAW}, batch_size=2)
    answers.append(np.stack(result['OUTPUT1']))
    print(str(protocol).split('.')[-1], answers[-1].shape, answers[-1].sum(axis=1))
print('same' if (answers[0] == answers[1]).all() else 'DIFFERENT')
