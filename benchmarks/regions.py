"""64 MB in and out through system shared memory."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import numpy as np
import tritonclient.utils.shared_memory as their_shm

import tensorrtserver.shared_memory as our_shm
from benchmarks import bare
from benchmarks.harness import Call, Row, Workload
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext, SharedMemoryControlContext

COUNT = 16 * 2**20
SIZE = 4 * COUNT
RAW = InferContext.ResultFormat.RAW


def shared(url: str, protocol: int, closing: ExitStack) -> Workload:
    """Write the input region, run, read the output region.

    Bare writes and reads nothing. It only sends the request that names the facade's regions.
    """
    values = np.arange(COUNT, dtype=np.float32)
    facade = _facade(url, protocol, values, closing)
    programs = {
        "facade": facade,
        "hand": _hand(HandPort(url, protocol, closing), values, closing),
        "bare": bare.single_request(facade, url, protocol, closing),
    }

    def same(ours: Any, theirs: Any) -> bool:
        return np.array_equal(ours, values) and np.array_equal(theirs, values)

    return Workload(programs, same)


def _key(program: str, direction: str) -> str:
    return f"/tritonclient_shim_bench_{os.getpid()}_{program}_{direction}"


def _facade(url: str, protocol: int, values: Any, closing: ExitStack) -> Call:
    control = SharedMemoryControlContext(url, protocol)

    def region(direction: str) -> Any:
        key = _key("facade", direction)
        handle = our_shm.create_shared_memory_region(f"our_{direction}", key, SIZE)
        closing.callback(our_shm.destroy_shared_memory_region, handle)
        control.register(handle)
        closing.callback(control.unregister, handle)
        return handle

    source, target = region("in"), region("out")
    ctx = InferContext(url, protocol, "identity_fp32")
    closing.callback(ctx.close)

    def call() -> Any:
        our_shm.set_shared_memory_region(source, [values])
        return ctx.run({"INPUT0": (source, [COUNT])}, {"OUTPUT0": (RAW, target)}, 1)["OUTPUT0"][0]

    return call


def _hand(port: HandPort, values: Any, closing: ExitStack) -> Call:
    def region(direction: str) -> Any:
        name, key = f"their_{direction}", _key("hand", direction)
        handle = their_shm.create_shared_memory_region(name, key, SIZE)
        closing.callback(their_shm.destroy_shared_memory_region, handle)
        port.client.register_system_shared_memory(name, key, SIZE)
        closing.callback(port.client.unregister_system_shared_memory, name)
        return handle

    source, target = region("in"), region("out")

    def call() -> Any:
        their_shm.set_shared_memory_region(source, [values])
        tensor = port.module.InferInput("INPUT0", [1, COUNT], "FP32")
        tensor.set_shared_memory("their_in", SIZE)
        wanted = port.module.InferRequestedOutput("OUTPUT0")
        wanted.set_shared_memory("their_out", SIZE)
        port.client.infer("identity_fp32", [tensor], outputs=[wanted])
        return their_shm.get_contents_as_numpy(target, np.float32, [COUNT])

    return call


ROWS = (Row("64 MB in and out, system shared memory", {"gRPC": 1.0, "HTTP": 1.0}, shared),)
