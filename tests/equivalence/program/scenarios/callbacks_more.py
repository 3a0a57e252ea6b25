"""Asynchronous requests: several contexts, state of a context, refused counts."""

import numpy as np
from recorder import BOTH, CLASS, RAW, SUMS, A, B, floats

from scenarios.callbacks import Calls, each


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
        see(
            label + "refused",
            ctx.async_run,
            calls,
            {"INPUT0": [A.astype("i8")], "INPUT1": [B]},
            BOTH,
            1,
            0,
            78,
        )
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
