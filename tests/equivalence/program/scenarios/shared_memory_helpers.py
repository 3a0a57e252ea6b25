"""The modules that make regions (docs/v1-behaviour.md §7)."""

import numpy as np
from recorder import A, B

import tensorrtserver.shared_memory as shm
from scenarios.shared_memory import content


def creating(see):
    key = f"/{see.token}_c"

    def create(*arguments):
        handle = shm.create_shared_memory_region(*arguments)
        return type(handle).__name__

    def told(label, *arguments):
        try:
            see.note(label, create(*arguments))
        except shm.SharedMemoryException as error:
            see.note(label, ["SharedMemoryException", str(error)])
        except Exception as error:
            see.note(label, see.refusal(error))

    told("plain", "c", key, 64)
    told("larger", "c", key, 128)
    see.note("resized", len(content(key, 1000)))
    told("smaller", "c", key, 32)
    see.note("shrunk", len(content(key, 1000)))
    told("bytes", b"c", key.encode(), 64)
    told("size 0", "c", key, 0)
    told("negative", "c", key, -1)
    told("huge", "c", key, 2**62)
    told("empty key", "c", "", 64)
    told("bad key", "c", "/a/b/c", 64)
    for value in (1.5, "64", None, [64]):
        told(f"size {value!r}", "c", key, value)
    told("name 5", 5, key, 64)
    told("key 5", "c", 5, 64)
    told("bool size", "c", key, True)
    told("numpy size", "c", key, np.int64(64))
    told("no size", "c", key)
    handle = shm.create_shared_memory_region("c", key, 64)
    for label in ("destroy", "destroy twice"):
        try:
            see.note(label, shm.destroy_shared_memory_region(handle))
        except shm.SharedMemoryException as error:
            see.note(label, ["SharedMemoryException", str(error), len(error.args)])


def setting(see):
    key = f"/{see.token}_s"
    handle = shm.create_shared_memory_region("s", key, 64)

    def told(label, value):
        try:
            see.note(label, [shm.set_shared_memory_region(handle, value), content(key, 64)])
        except shm.SharedMemoryException as error:
            see.note(label, ["SharedMemoryException", str(error)])
        except Exception as error:
            see.note(label, see.refusal(error))

    told("one", [A])
    told("tuple", (B,))
    told("two", [A[:4], B[:2]])
    told("nothing", [])
    told("empty", [A[:0]])
    told("bytes", [np.array([b"ab", b"c"])])
    told("two dimensions", [A.reshape(4, 4)])
    told("transposed", [A.reshape(4, 4).T])
    told("every other", [np.arange(20, dtype=np.int32)[::2]])
    told("scalar", [np.array(7, dtype=np.int32)])
    told("array", A)
    told("None", None)
    told("text", "text")
    told("list of lists", [[1, 2]])
    told("list of None", [None])
    told("mixed", [A[:2], 5])
    shm.destroy_shared_memory_region(handle)


def cuda_without_gpu(see):
    import tensorrtserver.cuda_shared_memory as cudashm

    try:
        cudashm.create_shared_memory_region("c", 64, 0)
        see.note("created", True)
    except cudashm.CudaSharedMemoryException as error:
        see.note("refused", str(error))
    for value in (A, None, [[1]], [None]):
        try:
            cudashm.set_shared_memory_region(None, value)
        except cudashm.CudaSharedMemoryException as error:
            see.note(f"set {type(value).__name__}", str(error))
