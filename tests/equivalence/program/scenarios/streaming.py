"""Streaming contexts, gRPC only (docs/v1-behaviour.md §5)."""

from collections import OrderedDict

from recorder import BOTH, CLASS, RAW, SUMS, A, B, floats, objects


def runs(see):
    if not see.grpc:
        see("not over HTTP", see.open, "simple", streaming=True)
        return
    ctx = see.open("simple", streaming=True)
    see.getters("before", ctx)
    see.run("run", ctx, SUMS, BOTH)
    see.run("batch", ctx, {"INPUT0": [A, B], "INPUT1": [B, B]}, BOTH, 2)
    see.run("batch 0", ctx, SUMS, BOTH, 0)
    see.run("refused here", ctx, SUMS, {"NOPE": RAW})
    see.run("refused there", ctx, {"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}, BOTH)
    see.run("after a refusal", ctx, SUMS, BOTH)
    see.run("no outputs", ctx, SUMS, {})
    see.note("requests", ctx.get_stat()["completed_request_count"])


def kinds(see):
    if not see.grpc:
        return
    strings = see.open("identity_string", streaming=True)
    see.run("strings", strings, {"INPUT0": [objects("a", "")]}, {"OUTPUT0": RAW})
    see.run("empty", strings, {"INPUT0": [objects()]}, {"OUTPUT0": RAW})
    classes = see.open("classify", streaming=True)
    scores = {"INPUT": [floats(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)]}
    see.run("classes", classes, scores, {"OUTPUT": (CLASS, 2)})
    see.run("no classes", classes, scores, {"OUTPUT": (CLASS, 0)})
    for label, version in (("version", 2), ("no version", 9)):
        ctx = see.open("multi_version", version, streaming=True)
        see.run(label, ctx, {"INPUT0": [floats(1)]}, {"OUTPUT0": RAW})
    failing = see.open("failing", streaming=True)
    for number in (0, 5, 0):
        see.run(f"failing {number}", failing, {"INPUT0": [floats(number)]}, {"OUTPUT0": RAW})
    omitting = see.open("omits_output", streaming=True)
    see.run("omitted", omitting, {"INPUT0": [floats(1)]}, {"OUTPUT1": RAW})
    both = OrderedDict([("OUTPUT0", RAW), ("OUTPUT1", RAW)])
    see.run("omitted, one of two", omitting, {"INPUT0": [floats(1)]}, both)
