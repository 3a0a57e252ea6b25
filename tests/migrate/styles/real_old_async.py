# Written for a 1.5 client: ids, polling, then contexts per worker process' thread.
import argparse
from threading import Thread
import numpy as np
import tensorrtserver.api as trtis


def work(url, protocol, number, store):
    ctx = trtis.InferContext(url, protocol, "identity_int32", -1, 0)
    data = [np.full([4], number, dtype=np.int32), np.zeros([4], dtype=np.int32)]
    out = ctx.run({"INPUT0": data}, {"OUTPUT0": trtis.InferContext.ResultFormat.RAW}, 2)
    store[number] = [r.tolist() for r in out["OUTPUT0"]]
    ctx.close()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url", default="localhost:8000")
    parser.add_argument("-i", "--protocol", default="HTTP")
    FLAGS = parser.parse_args(argv)
    protocol = trtis.ProtocolType.from_str(FLAGS.protocol)

    ctx = trtis.InferContext(FLAGS.url, protocol, "simple", -1, False)
    request_ids = []
    for i in range(4):
        input0 = [np.arange(16, dtype=np.int32) for b in range(2)]
        input1 = [np.full([16], i, dtype=np.int32) for b in range(2)]
        request_ids.append(ctx.async_run({"INPUT0": input0, "INPUT1": input1},
                                         {"OUTPUT0": (trtis.InferContext.ResultFormat.RAW),
                                          "OUTPUT1": (trtis.InferContext.ResultFormat.RAW)}, 2))
    done = {}
    while len(done) < 2:
        ready_id = ctx.get_ready_async_request(True)
        result = ctx.get_async_run_results(ready_id, True)
        done[request_ids.index(ready_id)] = result["OUTPUT0"][1][:3].tolist()
    for i in range(4):
        if i in done:
            continue
        result = None
        while result is None:
            result = ctx.get_async_run_results(request_ids[i], False)
        done[i] = result["OUTPUT0"][1][:3].tolist()
    print(sorted(done.items()))

    store = {}
    threads = [Thread(target=work, args=(FLAGS.url, protocol, n, store)) for n in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(sorted(store.items()))


if __name__ == "__main__":
    main()
