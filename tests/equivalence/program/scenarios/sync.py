"""run(): values, batches, options and getters (docs/v1-behaviour.md §3, §4)."""

import numpy as np
from recorder import BOTH, RAW, SUMS, A, B, floats


def one(see):
    ctx = see.open("simple")
    see.getters("before", ctx)
    see.run("run", ctx, SUMS, BOTH)
    see.run("again", ctx, SUMS, BOTH)


def batch(see):
    ctx = see.open("simple")
    see.run("batch 2", ctx, {"INPUT0": [A, B], "INPUT1": [B, A]}, BOTH, 2)
    see.run("batch 8", ctx, {"INPUT0": [A] * 8, "INPUT1": [B] * 8}, BOTH, batch_size=8)


def batch_zero(see):
    for model in ("simple", "simple_nobatch"):
        see.run(model, see.open(model), SUMS, BOTH, 0)


def output_order(see):
    ctx = see.open("simple")
    see.run("reversed", ctx, SUMS, {"OUTPUT1": RAW, "OUTPUT0": RAW})
    see.run("one", ctx, SUMS, {"OUTPUT1": RAW})
    see.run("none", ctx, SUMS, {})


def reinterpreted(see):
    ctx = see.open("simple")
    wide = np.arange(16, dtype=np.float32)
    see.run("floats as ints", ctx, {"INPUT0": [wide], "INPUT1": [B]}, BOTH)
    see.run("big endian", ctx, {"INPUT0": [A.astype(">i4")], "INPUT1": [B]}, BOTH)
    see.run("strided", ctx, {"INPUT0": [np.arange(32, dtype=np.int32)[::2]], "INPUT1": [B]}, BOTH)
    ctx = see.open("identity_2d")
    see.run(
        "fortran",
        ctx,
        {"INPUT0": [np.asfortranarray(floats(1, 2, 3, 4, 5, 6).reshape(2, 3))]},
        {"OUTPUT0": RAW},
    )
