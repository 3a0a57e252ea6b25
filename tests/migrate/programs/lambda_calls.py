import sys, queue
from tensorrtserver.api import *
done = queue.Queue()
ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), 'identity_uint32')
send = ctx.async_run
for n in range(5):
    send(lambda c, i, n=n: done.put((n, c.get_async_run_results(i)['OUTPUT0'][0].tolist())),
         {'INPUT0': [np.arange(n + 1, dtype=np.uint32)]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
for n, values in sorted(done.get(timeout=20) for _ in range(5)):
    print(n, values)
run = lambda a: ctx.run({'INPUT0': [a]}, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)['OUTPUT0'][0]
print(list(map(lambda k: int(run(np.full(2, k, np.uint32)).sum()), range(3))))
