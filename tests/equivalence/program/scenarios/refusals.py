"""Requests that the server refuses (docs/v1-behaviour.md §3.4)."""

from recorder import BOTH, END, RAW, START, SUMS, A, B, floats, ints

ONE = {"INPUT": [ints(1)]}
OUT = {"OUTPUT": RAW}


def models(see):
    see("unknown model", see.open, "nope")
    see.run("unknown version", see.open("simple", 9), SUMS, BOTH)
    see.run("model refuses", see.open("failing"), {"INPUT0": [floats(7)]}, {"OUTPUT0": RAW})
    see.run("model does not refuse", see.open("failing"), {"INPUT0": [floats(0)]}, {"OUTPUT0": RAW})


def shapes(see):
    ctx = see.open("simple")
    see.run("first", ctx, {"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}, BOTH)
    see.run("second", ctx, {"INPUT0": [A], "INPUT1": [B.reshape(2, 8)]}, BOTH)
    see.run("batch", ctx, {"INPUT0": [A.reshape(16, 1)] * 2, "INPUT1": [B] * 2}, BOTH, 2)
    see.run(
        "string",
        see.open("simple_string"),
        {"INPUT0": [A.astype("S").reshape(4, 4)], "INPUT1": [B.astype("S")]},
        BOTH,
    )


def before_other_refusals(see):
    """Ask for an unknown version with a wrong shape: the version is refused first."""
    # docs/v1-behaviour.md §3.4
    wide = {"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}
    see.run("version before shape", see.open("simple", 9), wide, BOTH)
    see.run("version 0 before shape", see.open("simple", 0), wide, BOTH)
    see.run("negative version before shape", see.open("simple", -3), wide, BOTH)


def sequences(see):
    for model in ("sequence_sum", "sequence_oldest"):
        ctx = see.open(model)
        see.run("no id", ctx, ONE, OUT)
        see.run("no id, start", ctx, ONE, OUT, 1, START)
        see.run("no start", ctx, ONE, OUT, 1, 0, 4000001)
        see.run("no start, end", ctx, ONE, OUT, 1, END, 4000002)
        see.run("batch 2", ctx, {"INPUT": [ints(1), ints(2)]}, OUT, 2, START | END, 4000003)
        see.run("the context survives", ctx, ONE, OUT, 1, START | END, 4000004)


def states(see):
    """Read the getters after success, refusal, success."""
    ctx = see.open("failing")
    out = {"OUTPUT0": RAW}
    see.run("fine", ctx, {"INPUT0": [floats(0)]}, out)
    see.run("refused by the server", ctx, {"INPUT0": [floats(3)]}, out)
    see.run("fine again", ctx, {"INPUT0": [floats(0)]}, out)
    see.run("refused by the client", ctx, {"INPUT0": [floats(0)]}, out, 99)
    see.run("fine once more", ctx, {"INPUT0": [floats(0)]}, out)


def in_batches(see):
    ctx = see.open("failing")
    see.run("batch", ctx, {"INPUT0": [floats(0), floats(0)]}, {"OUTPUT0": RAW}, 2)
    see.run("refused", ctx, {"INPUT0": [floats(5), floats(0)]}, {"OUTPUT0": RAW}, 2)
    see.run("half refused", ctx, {"INPUT0": [floats(0), floats(5)]}, {"OUTPUT0": RAW}, 2)
