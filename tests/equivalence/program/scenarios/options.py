"""batch_size, flags, corr_id and other numbers of a request (docs/v1-behaviour.md §3.5, §3.9)."""

import numpy as np
from recorder import BOTH, END, RAW, START, SUMS, A, B


def batch_sizes(see):
    ctx = see.open("simple")
    eight = {"INPUT0": [A] * 8, "INPUT1": [B] * 8}
    for size in (9, -1, 2**32, 2**64, 2**64 + 1):
        see.run(f"batch {size}", ctx, eight, BOTH, size)
    for size in (None, 1.0, "1", True, np.int32(1), np.uint8(1), [1]):
        see.run(f"batch {type(size).__name__}", ctx, SUMS, BOTH, size)
    see.run("batch False", ctx, SUMS, BOTH, False)


def flags(see):
    ctx = see.open("simple")
    for value in (0, START, END, START | END, 4, -1, 2**32 + 1, True, np.int64(1)):
        see.run(f"flags {type(value).__name__} {value}", ctx, SUMS, BOTH, 1, value)
    for value in (None, "1", 1.0):
        see.run(f"flags {value!r}", ctx, SUMS, BOTH, 1, value)


def correlation_ids(see):
    ctx = see.open("simple", correlation_id=5)
    see.getters("before", ctx)
    for value in (0, 7, 0, 2**64 - 1, 2**64, -1, True, np.uint64(9), np.int32(3), 2**63):
        see.run(f"corr_id {type(value).__name__} {value}", ctx, SUMS, BOTH, 1, 0, value)
    for value in (None, "5", 1.5):
        see.run(f"corr_id {value!r}", ctx, SUMS, BOTH, 1, 0, value)


def sticky_correlation_id(see):
    ctx = see.open("simple")
    see.run("batch error", ctx, SUMS, BOTH, 99, 0, 11)
    see.run("output error", ctx, SUMS, {"NOPE": RAW}, 1, 0, 12)
    see.run("type error", ctx, {"INPUT0": 5}, BOTH, 1, 0, 13)
    see.run("input error", ctx, {"INPUT0": [A[:1]], "INPUT1": [B]}, BOTH, 1, 0, 14)
    see.run("name error", ctx, {"NOPE": [A]}, BOTH, 1, 0, 15)
    see.run("server error", ctx, {"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}, BOTH, 1, 0, 16)
    see.run("fine", ctx, SUMS, BOTH)
    see.note("the constructor's", ctx._correlation_id)


def arguments(see):
    ctx = see.open("simple")
    see.run("keywords", ctx, inputs=SUMS, outputs=BOTH, batch_size=1, flags=0, corr_id=0)
    see.run("none", ctx)
    see.run("one", ctx, SUMS)
    see.run("unknown keyword", ctx, SUMS, BOTH, nope=1)
    see.run("twice", ctx, SUMS, BOTH, inputs=SUMS)


def statistics(see):
    ctx = see.open("simple")

    def counted(label):
        stat = ctx.get_stat()
        see.note(label, [sorted(stat), stat["completed_request_count"]])
        see.note(label + ", times", [name for name in sorted(stat) if stat[name] > 0])

    counted("before")
    ctx.run(SUMS, BOTH)
    ctx.run(SUMS, BOTH)
    counted("two runs")
    see("client error", ctx.run, SUMS, BOTH, 99)
    counted("after a client error")
    see("server error", ctx.run, {"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}, BOTH)
    counted("after a server error")
    ctx.run(SUMS, {})
    counted("without outputs")
