"""String tensors (docs/v1-behaviour.md §3.6)."""

import numpy as np
from recorder import BOTH, RAW, objects

import tensorrtserver.api as api

OUT = {"OUTPUT0": RAW}


def send(see, label, *arrays):
    see.run(label, see.open("identity_string"), {"INPUT0": list(arrays)}, OUT, len(arrays))


def text(see):
    send(see, "words", objects("a", "bc", ""))
    send(see, "unicode", objects("\u00e4\u20ac", "\U0001f600"))
    send(see, "NUL", objects("a\0b", "a\0", "\0"))
    send(see, "batch", objects("a", "b"), objects("cc", "dd"))
    send(see, "ragged batch", objects("a", "b"), objects("c"))
    send(see, "long", objects("x" * 100000))
    send(see, "surrogate", objects("\ud800"))


def kinds(see):
    send(see, "S", np.array([b"a", b"bcd", b""]))
    send(see, "S with NULs", np.array([b"a\0b", b"c\0"]))
    send(see, "S, no letters", np.array([b"", b""]))
    send(see, "S bytes", np.array([b"\xff\xfe"]))
    send(see, "U", np.array(["a", "bc"]))
    send(see, "bytes", objects(b"a", b"bc"))
    send(see, "numpy bytes", objects(np.bytes_(b"y")))


def other_kinds(see):
    send(see, "integers", np.arange(3, dtype=np.int32))
    send(see, "numbers", objects(1, 2.5, None, True))
    send(see, "numpy text", objects(np.str_("x"), np.str_("")))
    send(see, "numpy numbers", objects(np.int32(1), np.float64(2.5)))
    send(see, "list", objects([1, 2], "x"))


def subclasses(see):
    masked = np.ma.array(objects("a", "bc", "d"), mask=[0, 1, 0])
    send(see, "masked objects", masked)
    send(see, "masked S", masked.astype("S"))
    for label, array in (("masked", masked), ("matrix", objects("a", "bc").view(np.matrix))):
        value = see(label, api.serialize_string_tensor, array)
        see.note(label + ", its bytes", None if value is None else value.tobytes())


def empty(see):
    send(see, "no elements", objects())
    send(see, "no elements, batch", objects(), objects())
    see.run("no batch", see.open("identity_string_nobatch"), {"INPUT0": [objects()]}, OUT)


def shapes(see):
    square = objects("a", "b", "c", "d").reshape(2, 2)
    send(see, "two dimensions", square)
    see.run("no batch", see.open("identity_string_nobatch"), {"INPUT0": [objects("a", "b")]}, OUT)
    scalar = np.empty((), dtype=object)
    scalar[()] = "x"
    send(see, "no dimension", scalar)
    send(see, "transposed", objects("a", "b", "c", "d").reshape(2, 2).T.reshape(4))


def arithmetic(see):
    texts = objects(*[str(n) for n in range(16)])
    ones = np.array(["1"] * 16).astype("S")
    ctx = see.open("simple_string")
    see.run("sum", ctx, {"INPUT0": [texts], "INPUT1": [ones]}, BOTH)
    see.run("batch", ctx, {"INPUT0": [texts, ones], "INPUT1": [ones, texts]}, BOTH, 2)
    see.run("too few", ctx, {"INPUT0": [texts[:3]], "INPUT1": [ones]}, BOTH)
    see.run("refused by the model", ctx, {"INPUT0": [objects(*["x"] * 16)], "INPUT1": [ones]}, BOTH)


def serialized(see):
    for label, array in (
        ("words", objects("a", "bc", "")),
        ("bytes", objects(b"a")),
        ("S", np.array([b"a", b"bcd"])),
        ("S with NULs", np.array([b"a\0"])),
        ("numbers", objects(1, None)),
        ("two dimensions", objects("a", "b").reshape(1, 2)),
        ("empty", objects()),
        ("U", np.array(["a"])),
        ("ints", np.arange(3)),
        ("list", ["a"]),
        ("none", None),
        ("ends in NUL", objects("a\0\0")),
    ):
        value = see(label, api.serialize_string_tensor, array)
        if value is not None:
            sizes = [value.nbytes, value.itemsize, value.size, value.ndim, value.dtype.str]
            see.note(label + ", its sizes", sizes)
            see.note(label + ", its bytes", value.tobytes())
