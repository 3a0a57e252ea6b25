#!/usr/bin/env python2
# -*- coding: utf-8 -*-
from __future__ import absolute_import, division, print_function

import argparse
import sys
from builtins import range
from future.utils import iteritems
import numpy as np
from tensorrtserver.api import *
try:
    import Queue as queue
except ImportError:
    import queue

class Requests(object):
    def __init__(self):
        super(Requests, self).__init__()
        self.q = queue.Queue()
    def done(self, ctx, request_id):
        self.q.put((ctx, request_id))

p = argparse.ArgumentParser()
p.add_argument('-u', '--url', type=str, default=u'localhost:8000')
p.add_argument('-i', '--protocol', type=str, default=u'http')
p.add_argument('--async', dest='is_async', action='store_true')
FLAGS = p.parse_args()
ctx = InferContext(FLAGS.url, ProtocolType.from_str(FLAGS.protocol), 'simple_string', -1, False)
words = np.array(['%d' % i for i in range(16)]).astype(np.object)
ones = np.array([b'1'] * 16, dtype=np.object)
reqs = Requests()
if FLAGS.is_async:
    ctx.async_run(reqs.done, {'INPUT0': (words,), 'INPUT1': (ones,)},
                  {'OUTPUT0': InferContext.ResultFormat.RAW, 'OUTPUT1': InferContext.ResultFormat.RAW}, 1)
    c, i = reqs.q.get()
    result = c.get_async_run_results(i)
else:
    result = ctx.run({'INPUT0': (words,), 'INPUT1': (ones,)},
                     {'OUTPUT0': InferContext.ResultFormat.RAW, 'OUTPUT1': InferContext.ResultFormat.RAW}, 1)
for name, values in sorted(iteritems(result)):
    numbers = [int(v) for v in values[0]]
    print('%s: %s / mean %.2f' % (name, numbers, sum(numbers) / len(numbers)))
is_ok = np.bool(len(result) == 2)
print('OK' if is_ok else 'FAILED')
