"""Sequences (docs/v1-behaviour.md §3.9, §5)."""

import threading

from recorder import CLASS, END, RAW, START, WAIT, floats, ints

OUT = {"OUTPUT": RAW}
MODELS = ("sequence_sum", "sequence_oldest")


def value(number):
    return {"INPUT": [ints(number)]}


def whole(see):
    for model in MODELS:
        for streaming in see.streams:
            ctx = see.open(model, correlation_id=4100001 + streaming, streaming=streaming)
            label = f"{model}, streaming {streaming}, "
            see.run(label + "start", ctx, value(3), OUT, 1, START)
            see.run(label + "middle", ctx, value(4), OUT)
            see.run(label + "end", ctx, value(5), OUT, 1, END)
            see.run(label + "after the end", ctx, value(6), OUT)
            see.run(label + "one request", ctx, value(7), OUT, 1, START | END)


def interleaved(see):
    ctx = see.open("sequence_sum")
    for turn, flags in enumerate((START, 0, END)):
        for number in (4100011, 4100012):
            inputs, outputs = value(number % 10 + turn), {"OUTPUT": RAW, "CORRID": RAW}
            see.run(f"turn {turn} of {number}", ctx, inputs, outputs, 1, flags, number)


def restarted(see):
    ctx = see.open("sequence_sum", correlation_id=4100021)
    for label, flags in (("start", START), ("more", 0), ("start again", START), ("end", END)):
        see.run(label, ctx, value(10), OUT, 1, flags)


def large_ids(see):
    for number in (2**63, 2**64 - 1, -5):
        ctx = see.open("sequence_sum", correlation_id=number)
        see.run(f"id {number}", ctx, value(1), {"CORRID": RAW}, 1, START | END)


def classes(see):
    ctx = see.open("sequence_labels", correlation_id=4100031)
    scores = {"INPUT": [floats(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)]}
    see.run("start", ctx, scores, {"OUTPUT": (CLASS, 3)}, 1, START)
    see.run("end", ctx, scores, {"OUTPUT": (CLASS, 3)}, 1, END)


def pipelined(see):
    """Send a whole sequence over a stream before the first result is read."""
    if not see.grpc:
        return
    ctx = see.open("sequence_sum", streaming=True)
    seen, done = [], threading.Event()

    def called(context, number):
        seen.append(number)
        if len(seen) == 5:
            done.set()

    for turn in range(5):
        flags = START if turn == 0 else END if turn == 4 else 0
        ctx.async_run(called, value(turn + 1), OUT, 1, flags, 4100041)
    see.note("done", done.wait(WAIT))
    see.note("order", seen)
    for number in range(1, 6):
        see(f"request {number}", ctx.get_async_run_results, number)
        see.getters(f"after {number}", ctx)
