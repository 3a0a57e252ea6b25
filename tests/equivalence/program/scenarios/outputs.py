"""The outputs argument, and missing results (docs/v1-behaviour.md §3.8, §4.1)."""

from collections import OrderedDict

import numpy as np
from recorder import CLASS, RAW, SUMS, floats


def formats(see):
    ctx = see.open("simple")
    values = [
        *((1,), [1], (RAW,), 1, 2, True, None, "RAW", "", (2,), (), [], (3, 1), [RAW, 1]),
        *((RAW, None), (RAW, "x"), ((1,), 5), (1, 2), (1, 1), {1: 2}, (2, 1.5), 1.5),
        *(np.array([1]), np.array([2, 1]), (None, 1), ("2", 1), [2], (2.0, 1)),
        *((np.int64(2), 1), (np.int64(1),), ([1], 5), (RAW, 1, 2)),
    ]
    for place, value in enumerate(values):
        see.run(f"format {place}", ctx, SUMS, {"OUTPUT0": value})


def kinds_of_dicts(see):
    ctx = see.open("simple")
    for value in (["OUTPUT0"], None, "OUTPUT0", ("OUTPUT0",), 5):
        see.run(f"outputs {type(value).__name__}", ctx, SUMS, value)
    see.run("ordered", ctx, SUMS, OrderedDict([("OUTPUT1", RAW), ("OUTPUT0", RAW)]))
    see.run("bytes", ctx, SUMS, {b"OUTPUT1": RAW, "OUTPUT0": RAW})
    see.run("the same twice", ctx, SUMS, {b"OUTPUT1": RAW, "OUTPUT1": RAW})
    see.run("number as key", ctx, SUMS, {1: RAW})
    see.run("none", ctx, SUMS, {})


def names(see):
    ctx = see.open("simple")
    see.run("unknown", ctx, SUMS, {"NOPE": RAW})
    see.run("unknown after known", ctx, SUMS, OrderedDict([("OUTPUT0", RAW), ("NOPE", (CLASS, 1))]))
    see.run("an input's name", ctx, SUMS, {"INPUT0": RAW})
    see.run("empty", ctx, SUMS, {"": RAW})
    see.run("bad format of an unknown name", ctx, SUMS, {"NOPE": 1})


def omitted(see):
    ctx = see.open("omits_output")
    value = {"INPUT0": [floats(1)]}
    see.run("the one that is there", ctx, value, {"OUTPUT0": RAW})
    see.run("the one that is not", ctx, value, {"OUTPUT1": RAW})
    see.run("there first", ctx, value, OrderedDict([("OUTPUT0", RAW), ("OUTPUT1", RAW)]))
    see.run("not there first", ctx, value, OrderedDict([("OUTPUT1", RAW), ("OUTPUT0", RAW)]))


def too_many_rows(see):
    ctx = see.open("wrong_rows")
    see.run("one", ctx, {"INPUT0": [floats(1)]}, {"OUTPUT0": RAW})
    see.run("two", ctx, {"INPUT0": [floats(1), floats(2)]}, {"OUTPUT0": RAW}, 2)


def ensemble(see):
    ctx = see.open("ensemble_simple")
    see.run("run", ctx, SUMS, {"OUTPUT0": RAW})
    wrong = dict(SUMS, INPUT0=[SUMS["INPUT0"][0].reshape(4, 4)])
    see.run("wrong shape", ctx, wrong, {"OUTPUT0": RAW})
    three = {name: arrays * 3 for name, arrays in SUMS.items()}
    see.run("batch", ctx, three, {"OUTPUT0": RAW}, 3)
