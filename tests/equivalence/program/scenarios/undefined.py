"""Calls that v1 leaves undefined: the genuine client crashes, hangs or sends random memory.

Each scenario runs in a separate process with a time limit
(docs/v1-behaviour.md §3.3, §5, §6, §E.6).
"""

import gc
import os
import socket
import threading
import time
from contextlib import suppress

import numpy as np
from recorder import BOTH, END, RAW, START, SUMS, WAIT, A, B, ints

import tensorrtserver.api as api
import tensorrtserver.shared_memory as shm


def run_after_close(see):
    ctx = see.open("simple")
    ctx.close()
    see("run", ctx.run, SUMS, BOTH)


def async_run_after_close(see):
    ctx = see.open("simple")
    ctx.close()
    see("async_run", ctx.async_run, lambda context, number: None, SUMS, BOTH)


def correlation_id_after_close(see):
    ctx = see.open("simple", correlation_id=9)
    ctx.close()
    see("correlation_id", ctx.correlation_id)


def missing_input(see):
    see("run", see.open("simple").run, {"INPUT0": [A]}, BOTH)


def too_few_arrays(see):
    see("run", see.open("simple").run, {"INPUT0": [A], "INPUT1": [B, B]}, BOTH, 2)


def close_in_callback(see):
    ctx, done = see.open("simple"), threading.Event()

    def called(context, number):
        see("close", context.close)
        done.set()

    ctx.async_run(called, SUMS, BOTH)
    see.note("done", done.wait(WAIT))


def four_threads(see):
    ctx, results = see.open("simple"), []

    def work(number):
        for _ in range(25):
            result = ctx.run({"INPUT0": [A + number], "INPUT1": [B]}, BOTH)["OUTPUT0"][0]
            results.append(bool(np.array_equal(result, A + number + 1)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    see.note("right", [all(results), len(results)])


def name_none(see):
    see("model name", api.InferContext, see.url, see.protocol, None)


def input_none(see):
    see("run", see.open("simple").run, {None: [A], "INPUT1": [B]}, BOTH)


def header_without_colon(see):
    see("header", lambda: bool(see.open("simple", http_headers=["nonsense"])))


def header_text(see):
    see("header", lambda: bool(see.open("simple", http_headers="A:B")))


def shared_memory_headers(see):
    ctx = see.of("SharedMemoryControlContext", http_headers=["A:B"])
    see("unregister_all", ctx.unregister_all)


def register_none(see):
    see("register", see.of("SharedMemoryControlContext").register, None)


def region_key_none(see):
    see("create", shm.create_shared_memory_region, "n", None, 64)


def region_overflow(see):
    handle = shm.create_shared_memory_region("o", f"/{see.token}_overflow", 64)
    see("set", shm.set_shared_memory_region, handle, [np.zeros(2000000, dtype=np.float64)])
    shm.destroy_shared_memory_region(handle)


def destroy_none(see):
    see("destroy", shm.destroy_shared_memory_region, None)


def changed_after_async_run(see):
    """HTTP read the arrays later than the call (docs/v1-behaviour.md §5)."""
    ctx, done = see.open("identity_fp32"), threading.Event()
    data = np.zeros(300000, dtype=np.float32)
    ctx.async_run(lambda context, number: done.set(), {"INPUT0": [data]}, {"OUTPUT0": RAW})
    data[:] = 9
    see.note("done", done.wait(WAIT))
    result = ctx.get_async_run_results(1)["OUTPUT0"][0]
    see.note("sent as it was", bool((result == 0).all()))


def formats_of_two_requests(see):
    """Request an output in two formats before the first result is fetched (v1 appendix A)."""
    ctx, done, seen = see.open("classify"), threading.Event(), []

    def called(context, number):
        seen.append(number)
        if len(seen) == 2:
            done.set()

    scores = {"INPUT": [np.arange(10, dtype=np.float32)]}
    ctx.async_run(called, scores, {"OUTPUT": (2, 2)})
    ctx.async_run(called, scores, {"OUTPUT": RAW})
    see.note("done", done.wait(WAIT))
    see("classes", ctx.get_async_run_results, 1)
    see("raw", ctx.get_async_run_results, 2)


def forked(see):
    """Use a context on both sides of a fork."""
    ctx = see.open("simple")
    ctx.run(SUMS, BOTH)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            result = ctx.run(SUMS, BOTH)["OUTPUT0"][0]
            os.write(writing, b"right" if np.array_equal(result, A + B) else b"wrong")
        except Exception as error:  # the report shows it
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    see.note("child", os.read(reading, 1000))
    see.run("parent", ctx, SUMS, BOTH)


def dropped_with_requests(see):
    """Drop the last reference to a context during its request."""
    # docs/v1-behaviour.md §5
    ctx = api.InferContext(see.url, see.protocol, "slow", streaming=see.grpc)
    seconds = [np.array([1.5], dtype=np.float32)]
    ctx.async_run(lambda context, number: None, {"INPUT0": seconds}, {"OUTPUT0": RAW})
    start = time.time()
    del ctx
    gc.collect()
    see.note("at once", time.time() - start < 1)


def cut_connections():
    """End every TCP connection of this process, as a network does."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # no connection
            connection = socket.fromfd(int(name), socket.AF_INET, socket.SOCK_STREAM)
            with connection:
                if isinstance(connection.getpeername(), tuple):
                    connection.shutdown(socket.SHUT_RDWR)


def stream_after_a_break(see):
    """Cut the connection of a streaming context. The server then accepts connections again."""
    # docs/v1-behaviour.md §5
    ctx = see.open("sequence_sum", streaming=see.grpc)
    value, outputs = {"INPUT": [ints(1)]}, {"OUTPUT": RAW}
    see.run("start", ctx, value, outputs, 1, START, 7600)
    cut_connections()
    for _ in range(100):
        try:
            ctx.run(value, outputs, 1, START | END, 7601)
        except api.InferenceServerException:  # from the request on the cut connection
            time.sleep(0.1)
        else:
            see.note("after the break", "works")
            break
    if see.grpc:
        see.run("go on", ctx, value, outputs, 1, 0, 7600)
    see.run("start again", ctx, value, outputs, 1, START | END, 7600)
