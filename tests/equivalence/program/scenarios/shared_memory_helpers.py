"""Modules that create regions (docs/v1-behaviour.md §7)."""

import numpy as np
from recorder import A, B

import tensorrtserver.shared_memory as shm
from scenarios.shared_memory import content


def creating(see):
    key = f"/{see.token}_c"

    def create(*arguments):
        handle = shm.create_shared_memory_region(*arguments)
        return type(handle).__name__

    def record(label, *arguments):
        see(label, create, *arguments)

    record("plain", "c", key, 64)
    record("larger", "c", key, 128)
    see.note("resized", len(content(key, 1000)))
    record("smaller", "c", key, 32)
    see.note("shrunk", len(content(key, 1000)))
    record("bytes", b"c", key.encode(), 64)
    record("size 0", "c", key, 0)
    record("negative", "c", key, -1)
    record("huge", "c", key, 2**62)
    record("empty key", "c", "", 64)
    record("bad key", "c", "/a/b/c", 64)
    for value in (1.5, "64", None, [64]):
        record(f"size {value!r}", "c", key, value)
    record("name 5", 5, key, 64)
    record("key 5", "c", 5, 64)
    record("bool size", "c", key, True)
    record("numpy size", "c", key, np.int64(64))
    record("no size", "c", key)
    handle = shm.create_shared_memory_region("c", key, 64)
    for label in ("destroy", "destroy twice"):
        see(label, shm.destroy_shared_memory_region, handle)


def setting(see):
    key = f"/{see.token}_s"
    handle = shm.create_shared_memory_region("s", key, 64)

    def record(label, value):
        see(label, lambda: [shm.set_shared_memory_region(handle, value), content(key, 64)])

    record("one", [A])
    record("tuple", (B,))
    record("two", [A[:4], B[:2]])
    record("nothing", [])
    record("empty", [A[:0]])
    record("bytes", [np.array([b"ab", b"c"])])
    record("two dimensions", [A.reshape(4, 4)])
    record("transposed", [A.reshape(4, 4).T])
    record("every other", [np.arange(20, dtype=np.int32)[::2]])
    record("scalar", [np.array(7, dtype=np.int32)])
    record("array", A)
    record("None", None)
    record("text", "text")
    record("list of lists", [[1, 2]])
    record("list of None", [None])
    record("mixed", [A[:2], 5])
    shm.destroy_shared_memory_region(handle)


def cuda_without_gpu(see):
    import tensorrtserver.cuda_shared_memory as cudashm

    see("create", cudashm.create_shared_memory_region, "c", 64, 0)
    for value in (A, None, [[1]], [None]):
        see(f"set {type(value).__name__}", cudashm.set_shared_memory_region, None, value)
