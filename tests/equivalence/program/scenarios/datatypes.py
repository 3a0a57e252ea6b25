"""Every datatype, there and back (docs/v1-behaviour.md §4.1)."""

import numpy as np
from recorder import RAW

OUT = {"OUTPUT0": RAW}
TYPES = [
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("fp16", "fp32", "fp64"),
]
NUMPY = {"fp16": "float16", "fp32": "float32", "fp64": "float64"}


def numbers(see):
    for name in TYPES:
        ctx = see.open("identity_" + name)
        data = np.array([0, 1, 2, 3, 100]).astype(NUMPY.get(name, name))
        see.run(name, ctx, {"INPUT0": [data]}, OUT)
        see.run(name + " batch", ctx, {"INPUT0": [data, data[::-1]]}, OUT, 2)
        see.run(name + " empty", ctx, {"INPUT0": [data[:0]]}, OUT)
        see.run(name + " empty batch", ctx, {"INPUT0": [data[:0]] * 3}, OUT, 3)


def extremes(see):
    for name in ["uint8", "uint64", "int8", "int64"]:
        info = np.iinfo(name)
        data = np.array([info.min, info.max], dtype=name)
        see.run(name, see.open("identity_" + name), {"INPUT0": [data]}, OUT)
    for name in ["fp16", "fp32", "fp64"]:
        data = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-8], dtype=NUMPY[name])
        see.run(name, see.open("identity_" + name), {"INPUT0": [data]}, OUT)


def other_type_of_same_size(see):
    for label, model, data in (
        ("floats as int64", "identity_int64", np.array([1.5, -2.0])),
        ("bytes as bool", "identity_bool", np.array([0, 1, 2, 255], dtype=np.uint8)),
        ("complex", "identity_fp32", np.array([1 + 2j], dtype=np.complex64)),
        ("dates", "identity_int64", np.array(["2019-01-01"], dtype="M8[D]")),
        ("floats as ints", "identity_int32", np.arange(16, dtype=np.float32)),
        ("big endian", "identity_int32", np.arange(16).astype(">i4")),
        ("strided", "identity_int32", np.arange(32, dtype=np.int32)[::2]),
        ("fortran", "identity_2d", np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))),
        ("large", "identity_fp32", np.arange(300000, dtype=np.float32)),
    ):
        see.run(label, see.open(model), {"INPUT0": [data]}, OUT)


def results_are_private(see):
    ctx = see.open("identity_fp32")
    first = ctx.run({"INPUT0": [np.ones(3, dtype=np.float32)]}, OUT)["OUTPUT0"][0]
    first[:] = 7
    second = ctx.run({"INPUT0": [np.zeros(3, dtype=np.float32)]}, OUT)["OUTPUT0"][0]
    ctx.close()
    see.note("first", first)
    see.note("second", second)
