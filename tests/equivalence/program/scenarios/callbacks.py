"""Asynchronous requests with callbacks, on plain and streaming contexts
(docs/v1-behaviour.md §5).
"""

import threading
from collections import OrderedDict
from functools import partial

import numpy as np
from recorder import BOTH, CLASS, RAW, SUMS, WAIT, A, B, floats


class Calls:
    """A callback of one context that records its arguments and threads."""

    def __init__(self, expected):
        self.seen, self.threads, self.contexts = [], [], []
        self.expected, self.done = expected, threading.Event()

    def __call__(self, context, number):
        self.seen.append(number)
        self.threads.append(threading.current_thread())
        self.contexts.append(context)
        if len(self.seen) == self.expected:
            self.done.set()

    def wait(self):
        return self.done.wait(WAIT)


def each(see, model):
    """Open contexts on the model, plain and, over gRPC, streaming."""
    see.ids_by_order = False
    for streaming in see.streams:
        yield ("streaming, " if streaming else ""), see.open(model, streaming=streaming)


def one(see):
    for label, ctx in each(see, "simple"):
        calls = Calls(1)
        see(label + "send", ctx.async_run, partial(calls), SUMS, BOTH)
        see.note(label + "done", calls.wait())
        see.getters(label + "before the fetch", ctx)
        see(label + "fetch", ctx.get_async_run_results, 1)
        see.getters(label + "after the fetch", ctx)
        see(label + "fetch again", ctx.get_async_run_results, 1)
        see.getters(label + "after the second fetch", ctx)


def many(see):
    for label, ctx in each(see, "simple"):
        calls = Calls(10)
        for number in range(10):
            ctx.async_run(calls, {"INPUT0": [A + number], "INPUT1": [B]}, BOTH)
        see.note(label + "done", calls.wait())
        see.note(label + "ids", sorted(calls.seen))
        see.note(label + "one thread", len(set(calls.threads)))
        thread = calls.threads[0]
        see.note(label + "thread", [thread is threading.main_thread(), thread.daemon])
        see.note(label + "the context itself", all(item is ctx for item in calls.contexts))
        for number in (3, 1, 10, 2):
            see(label + f"fetch {number}", ctx.get_async_run_results, number)


def order(see):
    """Compare the order of callbacks: of completion, or on a stream of sending."""
    for label, ctx in each(see, "slow"):
        calls = Calls(3)
        for seconds in (0.8, 0.4, 0.05):
            ctx.async_run(calls, {"INPUT0": [floats(seconds)]}, {"OUTPUT0": RAW})
        see.note(label + "done", calls.wait())
        see.note(label + "order", calls.seen)
        for number in calls.seen:
            see(label + f"fetch {number}", ctx.get_async_run_results, number)


def inside(see):
    """Fetch results and send further requests in the callback."""
    for label, ctx in each(see, "simple"):
        other, done = see.open("simple"), threading.Event()

        def called(context, number, label=label, other=other, done=done):
            see(label + "fetch in the callback", context.get_async_run_results, number)
            see.getters(label + "getters in the callback", context)
            # the thread of a stream would wait for itself
            see.run(label + "run in the callback", other if label else context, SUMS, BOTH)
            done.set()

        see(label + "send", ctx.async_run, called, SUMS, BOTH)
        see.note(label + "done", done.wait(WAIT))


def chained(see):
    """Send the next request in each callback."""
    for label, ctx in each(see, "simple"):
        seen, done, again = [], threading.Event(), []

        def called(context, number, seen=seen, done=done, again=again):
            seen.append(number)
            if len(seen) == 4:
                done.set()
            else:
                context.async_run(again[0], SUMS, BOTH)

        again.append(called)
        ctx.async_run(called, SUMS, BOTH)
        see.note(label + "done", done.wait(WAIT))
        see.note(label + "ids", seen)


def refused_at_once(see):
    for label, ctx in each(see, "simple"):
        calls = Calls(1)
        see(label + "type", ctx.async_run, calls, {"INPUT0": A, "INPUT1": [B]}, BOTH)
        see(label + "size", ctx.async_run, calls, {"INPUT0": [A.astype("i8")], "INPUT1": [B]}, BOTH)
        see(label + "output", ctx.async_run, calls, SUMS, {"NOPE": RAW})
        see(label + "format", ctx.async_run, calls, SUMS, {"OUTPUT0": [1]})
        see(label + "batch", ctx.async_run, calls, SUMS, BOTH, 99)
        see(label + "flags", ctx.async_run, calls, SUMS, BOTH, 1, "x")
        see(label + "too few arguments", ctx.async_run, calls)
        see.getters(label + "getters", ctx)
        see(label + "fine", ctx.async_run, calls, SUMS, BOTH)
        see.note(label + "done", calls.wait())
        see.note(label + "its id", calls.seen)


def refused_by_the_server(see):
    for label, ctx in each(see, "failing"):
        calls = Calls(3)
        for number in (0, 4, 0):
            value = {"INPUT0": [floats(number)]}
            see(label + f"send {number}", ctx.async_run, calls, value, {"OUTPUT0": RAW})
        see.note(label + "done", calls.wait())
        for number in (1, 2, 2, 3):
            see(label + f"fetch {number}", ctx.get_async_run_results, number)
            see.getters(label + "getters", ctx)


def unknown_ids(see):
    for label, ctx in each(see, "simple"):
        for number in (0, 1, -1, 99, 2**64 + 1, True):
            see(label + f"id {number!r}", ctx.get_async_run_results, number)
        for number in (None, "1", 1.0):
            see(label + f"id {number!r}", ctx.get_async_run_results, number)
        see(label + "no id", ctx.get_async_run_results)


def too_early(see):
    ctx = see.open("slow")
    calls = Calls(1)
    ctx.async_run(calls, {"INPUT0": [floats(0.4)]}, {"OUTPUT0": RAW})
    see("in flight", ctx.get_async_run_results, 1)
    see.note("done", calls.wait())
    see("completed", ctx.get_async_run_results, 1)


def failing_callback(see):
    for label, ctx in each(see, "simple"):
        called = threading.Event()

        def broken(context, number, called=called):
            called.set()
            raise ValueError("the callback's own")

        ctx.async_run(broken, SUMS, BOTH)
        see.note(label + "called", called.wait(WAIT))
        calls = Calls(1)
        ctx.async_run(calls, SUMS, BOTH)
        see.note(label + "done", calls.wait())
        calls = Calls(1)
        ctx.async_run(lambda context: None, SUMS, BOTH)
        ctx.async_run(calls, SUMS, BOTH)
        see.note(label + "done again", calls.wait())
        for number in (1, 2):
            see(label + f"fetch {number}", ctx.get_async_run_results, number)


def beside_run(see):
    """Compare the numbers of run() and async_run() on one context."""
    for label, ctx in each(see, "simple"):
        calls = Calls(2)
        see.run(label + "run", ctx, SUMS, BOTH)
        ctx.async_run(calls, SUMS, BOTH)
        see.run(label + "run again", ctx, SUMS, BOTH)
        ctx.async_run(calls, SUMS, BOTH)
        see.note(label + "done", calls.wait())
        see.note(label + "ids", sorted(calls.seen))
        for number in sorted(calls.seen):
            see(label + f"fetch {number}", ctx.get_async_run_results, number)
            see.getters(label + f"getters {number}", ctx)


def classes(see):
    for label, ctx in each(see, "classify"):
        calls = Calls(2)
        scores = {"INPUT": [floats(0, 5, 2, 9, 1, 3, 7, 4, 8, 6)]}
        ctx.async_run(calls, scores, {"OUTPUT": (CLASS, 3)})
        ctx.async_run(calls, {"INPUT": scores["INPUT"] * 2}, {"OUTPUT": (CLASS, 1)}, 2)
        see.note(label + "done", calls.wait())
        see(label + "fetch 1", ctx.get_async_run_results, 1)
        see(label + "fetch 2", ctx.get_async_run_results, 2)


def omitted(see):
    """Ask for an output that the model does not return."""
    forms = (["OUTPUT1"], ["OUTPUT0"], ["OUTPUT0", "OUTPUT1"], ["OUTPUT1", "OUTPUT0"])
    for label, ctx in each(see, "omits_output"):
        for number, names in enumerate(forms, 1):
            calls = Calls(1)
            ctx.async_run(
                calls, {"INPUT0": [floats(1)]}, OrderedDict((name, RAW) for name in names)
            )
            see.note(f"{label}done {number}", calls.wait())
            see(f"{label}fetch {number}", ctx.get_async_run_results, number)
            see.getters(f"{label}getters {number}", ctx)
            see(f"{label}fetch {number} again", ctx.get_async_run_results, number)
        calls = Calls(1)
        ctx.async_run(calls, {"INPUT0": [floats(1)]}, {})
        see.note(label + "done", calls.wait())
        see(label + "no outputs", ctx.get_async_run_results, 5)
        see.getters(label + "no outputs, then", ctx)


def statistics(see):
    for label, ctx in each(see, "simple"):
        calls = Calls(2)
        ctx.async_run(calls, SUMS, BOTH)
        ctx.async_run(calls, SUMS, BOTH)
        see.note(label + "done", calls.wait())
        if see.grpc:
            see.note(label + "completed", ctx.get_stat()["completed_request_count"])
        ctx.get_async_run_results(1)
        if see.grpc:
            see.note(label + "one fetched", ctx.get_stat()["completed_request_count"])
        ctx.get_async_run_results(2)
        see.note(label + "both fetched", ctx.get_stat()["completed_request_count"])


def contexts_have_their_own_threads(see):
    ctx, other = see.open("simple"), see.open("simple")
    first, second = Calls(1), Calls(1)
    ctx.async_run(first, SUMS, BOTH)
    other.async_run(second, SUMS, BOTH)
    see.note("done", [first.wait(), second.wait()])
    see.note("same thread", first.threads[0] is second.threads[0])


def sticky_correlation_id(see):
    for label, ctx in each(see, "simple"):
        calls = Calls(1)
        see(label + "send", ctx.async_run, calls, SUMS, BOTH, 1, 0, 77)
        see.note(label + "at once", ctx.correlation_id())
        see.note(label + "done", calls.wait())
        wide = {"INPUT0": [A.astype("i8")], "INPUT1": [B]}
        see(label + "refused", ctx.async_run, calls, wide, BOTH, 1, 0, 78)
        see.note(label + "after a refusal", ctx.correlation_id())


def stale_names(see):
    """Name and version of an earlier request stay after a fetch (docs/v1-behaviour.md §4.4)."""
    for label, ctx in each(see, "multi_version"):
        calls = Calls(1)
        see.run(label + "run", ctx, {"INPUT0": [floats(0)]}, {"OUTPUT0": RAW})
        ctx.async_run(calls, {"INPUT0": [floats(0)]}, {"OUTPUT0": RAW})
        see.note(label + "done", calls.wait())
        see.run(label + "refused", ctx, {"INPUT0": [floats(0)]}, {"NOPE": RAW})
        see(label + "fetch", ctx.get_async_run_results, calls.seen[0])
        see.getters(label + "after the fetch", ctx)


def old_calls(see):
    """Make calls of 1.0 to 1.7. Release 1.11 refuses them."""
    ctx = see.open("simple")
    see("no callback", ctx.async_run, SUMS, BOTH)
    see("no callback, batch", ctx.async_run, SUMS, BOTH, 1)
    see("wait", ctx.get_async_run_results, 1, True)
    see("ready", lambda: ctx.get_ready_async_request(True))
    see("with cb", lambda: ctx.async_run_with_cb(print, SUMS, BOTH))


def counted_refusals(see):
    """Over HTTP refused requests have no body and are not counted (docs/v1-behaviour.md §4.6)."""
    for label, ctx in each(see, "identity_string"):
        value = {"INPUT0": [np.array([b"a"])]}
        for number, outputs in enumerate(({"OUTPUT0": RAW}, {"OUTPUT0": (CLASS, 1)}), 1):
            calls = Calls(1)
            ctx.async_run(calls, value, outputs)
            see.note(f"{label}done {number}", calls.wait())
            see(f"{label}fetch {number}", ctx.get_async_run_results, number)
            see.note(f"{label}count {number}", ctx.get_stat()["completed_request_count"])
        see.run(label + "run", ctx, value, {"OUTPUT0": (CLASS, 1)})
        see.note(label + "count", ctx.get_stat()["completed_request_count"])
