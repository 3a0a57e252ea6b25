"""close() while requests are in flight (docs/v1-behaviour.md §5)."""

import time

from recorder import BOTH, RAW, A, B, floats


def close_with_requests_in_flight(see):
    ctx, called = see.open("slow"), []
    for seconds in (0.3, 0.6, 0.9):
        ctx.async_run(
            lambda context, number: called.append(number),
            {"INPUT0": [floats(seconds)]},
            {"OUTPUT0": RAW},
        )
    started = time.time()
    see("close", ctx.close)
    if not see.grpc:
        see.note("at once", time.time() - started < 0.25)
        time.sleep(0.4)
        see.note("called", called)


def close_stream_with_requests_in_flight(see):
    if not see.grpc:
        return
    ctx, called = see.open("slow", streaming=True), []
    for seconds in (0.3, 0.6):
        ctx.async_run(
            lambda context, number: called.append(number),
            {"INPUT0": [floats(seconds)]},
            {"OUTPUT0": RAW},
        )
    started = time.time()
    see("close", ctx.close)
    see.note("waited for all", time.time() - started > 0.4)
    time.sleep(0.2)
    see.note("called", called)


def results_outlive_the_context(see):
    ctx = see.open("simple")
    result = ctx.run({"INPUT0": [A], "INPUT1": [B]}, BOTH)
    ctx.close()
    see.note("results", result)
