from tensorrtserver.api import *

# everything below comes with the star: np, sys, os, partial, ...
def callback(collected, event, ctx, id):
    collected.append(ctx.get_async_run_results(id))
    event.set()

def check(url, protocol):
    ctx = InferContext(url, protocol, "simple", -1)
    a = np.arange(16, dtype=np.int32)
    collected = []
    event = threading.Event()
    ctx.async_run(partial(callback, collected, event), { "INPUT0": [a], "INPUT1": [a] },
                  { "OUTPUT0": InferContext.ResultFormat.RAW }, 1)
    event.wait(20)
    for name, value in iteritems(collected[0]):
        print(name, value[0].sum())

if len(sys.argv) < 3:
    print("usage: %s url protocol" % os.path.basename(sys.argv[0]))
    sys.exit(2)
check(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
