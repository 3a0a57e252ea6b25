"""The inputs argument: accepted and refused values, and the texts of the errors
(docs/v1-behaviour.md §3.2, §3.3).
"""

from collections import OrderedDict

import numpy as np
from recorder import BOTH, RAW, SUMS, A, B, floats

OUT = {"OUTPUT0": RAW}


def with_input(value):
    return {"INPUT0": value, "INPUT1": [B]}


def one(see):
    ctx = see.open("simple")
    see.getters("before", ctx)
    see.run("run", ctx, SUMS, BOTH)
    see.run("again", ctx, SUMS, BOTH)
    see.run("batch 2", ctx, {"INPUT0": [A, B], "INPUT1": [B, A]}, BOTH, 2)
    see.run("batch 8", ctx, {"INPUT0": [A] * 8, "INPUT1": [B] * 8}, BOTH, batch_size=8)


def kinds_of_values(see):
    ctx = see.open("simple")
    see.run("tuple", ctx, with_input((A,)), BOTH)
    for value in (A, None, [[1, 2]], 5, "text", [A, None], [None], [list(A)]):
        see.run(f"value {type(value).__name__}", ctx, with_input(value), BOTH)
    see.run("empty list", ctx, with_input([]), BOTH)
    see.run("empty tuple", ctx, with_input(()), BOTH)
    for label, value in (("list", [(A,)]), ("tuple", ((A,),)), ("array and tuple", [A, (B,)])):
        see.run(f"tuples in a {label}", ctx, with_input(value), BOTH)
    for label, value in (("list", []), ("tuple", ())):
        see.run(f"empty {label}, unknown output", ctx, with_input(value), {"NOPE": RAW})
        see.run(f"empty {label}, batch", ctx, with_input(value), BOTH, 99)
    see.run("bytes as name of a wrong value", ctx, {b"INPUT0": 5, "INPUT1": [B]}, BOTH)
    see.run("matrix", ctx, with_input([np.matrix(A)]), BOTH)
    see.run("masked", ctx, with_input([np.ma.masked_array(A, mask=A % 2)]), BOTH)
    frozen = A.copy()
    frozen.flags.writeable = False
    see.run("read-only", ctx, with_input([frozen]), BOTH)


def kinds_of_dicts(see):
    ctx = see.open("simple")
    for value in ([A], None, "text", 5, (A, B)):
        see.run(f"inputs {type(value).__name__}", ctx, value, BOTH)
    see.run("ordered", ctx, OrderedDict([("INPUT1", [B]), ("INPUT0", [A])]), BOTH)
    see.run("bytes keys", ctx, {b"INPUT0": [A], b"INPUT1": [B]}, {b"OUTPUT0": RAW})
    see.run("number as key", ctx, {1: [A], "INPUT1": [B]}, BOTH)


def sizes(see):
    ctx = see.open("simple")
    see.run("short", ctx, with_input([A[:4]]), BOTH)
    see.run("long", ctx, with_input([np.arange(17, dtype=np.int32)]), BOTH)
    see.run("two dimensions", ctx, with_input([A.reshape(4, 4)]), BOTH)
    see.run("with a batch dimension", ctx, with_input([A.reshape(1, 16)]), BOTH)
    see.run("wide", ctx, with_input([A.astype(np.int64)]), BOTH)
    see.run("narrow", ctx, with_input([A.astype(np.int16)]), BOTH)
    see.run("narrow, twice as many", ctx, with_input([np.arange(32, dtype=np.int16)]), BOTH)
    see.run("no dimension", ctx, with_input([np.int32(4).reshape(())]), BOTH)
    see.run("none", ctx, with_input([A[:0]]), BOTH)
    see.run("afterwards", ctx, SUMS, BOTH)


def counts(see):
    ctx = see.open("simple")
    see.run("three for two", ctx, {"INPUT0": [A, A, A], "INPUT1": [B, B]}, BOTH, 2)
    see.run("two for one", ctx, {"INPUT0": [A, A], "INPUT1": [B]}, BOTH)
    see.run("second is short", ctx, {"INPUT0": [A, A[:3]], "INPUT1": [B, B]}, BOTH, 2)
    square, two = A.reshape(4, 4), [B, B]
    see.run("second has another shape", ctx, {"INPUT0": [A, square], "INPUT1": two}, BOTH, 2)
    see.run("first has another shape", ctx, {"INPUT0": [square, A], "INPUT1": two}, BOTH, 2)


def names(see):
    ctx = see.open("simple")
    see.run("unknown", ctx, dict(SUMS, NOPE=[A]), BOTH)
    see.run("unknown instead", ctx, {"INPUT0": [A], "NOPE": [B]}, BOTH)
    see.run("empty name", ctx, {"": [A], "INPUT1": [B]}, BOTH)
    see.run("an output's name", ctx, {"OUTPUT0": [A], "INPUT1": [B]}, BOTH)


def order_of_checks(see):
    ctx = see.open("simple")
    bad_type, bad_name = with_input(5), {"NOPE": [A]}
    see.run("type before output", ctx, bad_type, {"NOPE": RAW})
    see.run("type before batch", ctx, bad_type, BOTH, 99)
    see.run("output before batch", ctx, SUMS, {"NOPE": RAW}, 99)
    see.run("batch before input name", ctx, bad_name, BOTH, 99)
    see.run("type of a name nobody knows", ctx, {"NOPE": 5}, BOTH, 99)
    see.run("format before batch", ctx, SUMS, {"OUTPUT0": [1]}, 99)
    see.run("format after type", ctx, bad_type, {"OUTPUT0": [1]})
    see.run("wrong flags before outputs", ctx, SUMS, {"NOPE": RAW}, 1, "x")
    see.run("wrong batch size before outputs", ctx, SUMS, {"NOPE": RAW}, 1.5)
    see.run("first input decides", ctx, OrderedDict([("INPUT0", [A[:2]]), ("NOPE", [A])]), BOTH)
    see.run("or the name", ctx, OrderedDict([("NOPE", [A]), ("INPUT0", [A[:2]])]), BOTH)


def variable(see):
    ctx = see.open("identity_fp32")
    for count in (1, 5, 0, 3):
        see.run(f"{count} elements", ctx, {"INPUT0": [np.zeros(count, dtype=np.float32)]}, OUT)
    see.run("batch", ctx, {"INPUT0": [floats(1, 2), floats(3, 4)]}, OUT, 2)
    see.run("ragged", ctx, {"INPUT0": [floats(1, 2), floats(3)]}, OUT, 2)
    see.run("two dimensions", ctx, {"INPUT0": [np.zeros((2, 3), dtype=np.float32)]}, OUT)
    see.run("no dimension", ctx, {"INPUT0": [np.array(1, dtype=np.float32)]}, OUT)
    see.run("doubles", ctx, {"INPUT0": [np.zeros(2)]}, OUT)


def variable_two_dimensions(see):
    for model in ("identity_2d", "identity_nobatch"):
        ctx = see.open(model)
        for shape in ((2, 3), (1, 1), (0, 3), (2, 0), (6,), (1, 2, 3)):
            see.run(f"{model} {shape}", ctx, {"INPUT0": [np.ones(shape, dtype=np.float32)]}, OUT)
        see.run(model + " batch", ctx, {"INPUT0": [np.ones((2, 2), dtype=np.float32)] * 2}, OUT, 2)


def reshape(see):
    ctx = see.open("identity_reshape")
    see.run("as configured", ctx, {"INPUT0": [floats(1, 2, 3, 4)]}, OUT)
    see.run("batch", ctx, {"INPUT0": [floats(1, 2, 3, 4)] * 2}, OUT, 2)
    see.run("as the model has it", ctx, {"INPUT0": [floats(1, 2, 3, 4).reshape(2, 2)]}, OUT)


def tensor_names(see):
    ctx = see.open("tensor_names")
    outputs = {"out/put:1": RAW, "out/put:0": RAW}
    see.run("slashes and colons", ctx, {"in/put:0": [floats(1, 2, 3, 4)]}, outputs)


def without_batching(see):
    ctx = see.open("simple_nobatch")
    for size in (0, 1, 2):
        count = max(size, 1)
        see.run(f"batch {size}", ctx, {"INPUT0": [A] * count, "INPUT1": [B] * count}, BOTH, size)
    see.run("two arrays", ctx, {"INPUT0": [A, A], "INPUT1": [B, B]}, BOTH)
    see.run("wrong shape", ctx, {"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}, BOTH)
    scores = {"INPUT": [np.arange(10, dtype=np.float32)]}
    see.run("classes of no batch", see.open("classify_nobatch"), scores, {"OUTPUT": (2, 3)})
