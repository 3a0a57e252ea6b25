"""Classification (docs/v1-behaviour.md §4.2, §3.8)."""

import numpy as np
from recorder import CLASS, RAW, floats

SCORES = floats(0.1, 0.9, 0.3, 0.8, 0, 0.05, 0, 0.7, 0.01, 0.2)


def classify(see, label, value, model="classify", scores=(SCORES,)):
    see.run(label, see.open(model), {"INPUT": list(scores)}, {"OUTPUT": value}, len(scores))


def counts(see):
    for count in (1, 3, 10, 11, 1000, -1, 2**32 + 2, np.int64(2), True):
        classify(see, f"{type(count).__name__} {count}", (CLASS, count))
    classify(see, "list", [CLASS, 2])
    classify(see, "plain number", (2, 3))
    classify(see, "more elements", (CLASS, 2, "x"))
    for count in ("2", 2.0, None):
        classify(see, f"count {count!r}", (CLASS, count))
    classify(see, "no count", (CLASS,))
    classify(see, "none", (CLASS, 0))
    ctx = see.open("classify")
    see("batch 0", ctx.run, {"INPUT": [SCORES]}, {"OUTPUT": (CLASS, 0)}, 0)


def batch(see):
    classify(see, "two", (CLASS, 2), scores=(SCORES, -SCORES))
    ctx = see.open("classify")
    see.run("batch size 0", ctx, {"INPUT": [SCORES]}, {"OUTPUT": (CLASS, 2)}, 0)
    see.run("batch size 0, two arrays", ctx, {"INPUT": [SCORES] * 2}, {"OUTPUT": RAW}, 0)


def models(see):
    tens = {"classify_fp64": np.float64, "classify_int32": np.int32}
    for name in ("nolabels", "nobatch", "variable", "fp64", "int32"):
        model = "classify_" + name
        scores = (SCORES * 100).astype(tens.get(model, np.float32))
        classify(see, model, (CLASS, 4), model, (scores,))
    classify(see, "ensemble", (CLASS, 4), "ensemble_classify")
    twelve, thousand = (np.arange(count, dtype=np.float32) for count in (12, 1000))
    label = "variable, more than there are labels"
    classify(see, label, (CLASS, 12), "classify_variable", (twelve,))
    classify(see, "thousand", (CLASS, 1000), "classify_1000", (thousand,) * 2)


def values(see):
    scores = floats(1e-7, 3e8, -1e-30, 1e38, 0.1, 1 / 3, -5, 2, 7, 9)
    classify(see, "tiny and huge", (CLASS, 10), scores=(scores,))
    classify(see, "infinite", (CLASS, 3), scores=(floats(np.inf, 0, 1, 2, 3, 4, 5, 6, 7, -np.inf),))
    big = np.array([1e300, 1.1, 2.2, 3.3, 4, 5, 6, 7, 8, 2**53 + 1], dtype=np.float64)
    classify(see, "doubles", (CLASS, 10), "classify_fp64", (big,))
    whole = np.array([2**31 - 1, -(2**31), 16777217, 0, 5, 6, 7, 8, 9, 10], dtype=np.int32)
    classify(see, "whole numbers", (CLASS, 10), "classify_int32", (whole,))


def ties(see):
    classify(see, "equal", (CLASS, 10), scores=(floats(*[1] * 10),))
    classify(see, "some equal", (CLASS, 10), scores=(floats(1, 2, 1, 2, 1, 2, 1, 2, 1, 2),))


def integers(see):
    for name in ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int64"]:
        ctx = see.open("identity_" + name)
        data = np.array([3, 1, 2], dtype=name)
        see.run(name, ctx, {"INPUT0": [data]}, {"OUTPUT0": (CLASS, 3)})


def refused_types(see):
    for name, data in (
        ("bool", np.array([True, False])),
        ("fp16", np.array([1, 2], dtype=np.float16)),
        ("string", np.array([b"a", b"b"])),
    ):
        see.run(name, see.open("identity_" + name), {"INPUT0": [data]}, {"OUTPUT0": (CLASS, 1)})


def refused_types_in_refused_requests(see):
    ctx = see.open("identity_string")
    vector, matrix = {"INPUT0": [np.array([b"a"])]}, {"INPUT0": [np.array([[b"a"], [b"b"]])]}
    see.run("wrong shape", ctx, matrix, {"OUTPUT0": (CLASS, 1)})
    see.run("unknown version", see.open("identity_string", 9), vector, {"OUTPUT0": (CLASS, 1)})
    see.run("none", ctx, vector, {"OUTPUT0": (CLASS, 0)})


def empty(see):
    see.run("empty", see.open("identity_fp32"), {"INPUT0": [floats()]}, {"OUTPUT0": (CLASS, 1)})


def both_ways(see):
    ctx = see.open("simple")
    inputs = {name: [np.arange(16, dtype=np.int32)] for name in ("INPUT0", "INPUT1")}
    see.run("one of each", ctx, inputs, {"OUTPUT0": (CLASS, 2), "OUTPUT1": RAW})
    see.run("raw later", ctx, inputs, {"OUTPUT0": RAW})
    see.run("one output twice", ctx, inputs, {"OUTPUT0": RAW, b"OUTPUT0": (CLASS, 1)})


def two_dimensions(see):
    ctx = see.open("identity_2d")
    matrix = floats(1, 5, 3, 4, 2, 6).reshape(2, 3)
    see.run("flattened", ctx, {"INPUT0": [matrix]}, {"OUTPUT0": (CLASS, 3)})
    see.run("batch", ctx, {"INPUT0": [matrix] * 2}, {"OUTPUT0": (CLASS, 3)}, 2)
    image = {"input": [np.full((3, 224, 224), 0.5, dtype=np.float32)]}
    see.run("image", see.open("image_classifier"), image, {"probabilities": (CLASS, 3)})
