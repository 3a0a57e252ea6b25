"""64 MB in and out through system shared memory."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import tritonclient.utils.shared_memory as their_shm

import tensorrtserver.shared_memory as our_shm
from benchmarks.harness import Workload
from benchmarks.ports import HandPort
from tensorrtserver.api import InferContext, ProtocolType, SharedMemoryControlContext

COUNT = 16 * 2**20
SIZE = 4 * COUNT
RAW = InferContext.ResultFormat.RAW


def shared(url: str, protocol: ProtocolType, port: HandPort) -> Workload:
    """Write the input region, run, read the output region."""
    values = np.arange(COUNT, dtype=np.float32)
    mine, close_mine = _facade(url, protocol, values)
    theirs, close_theirs = _hand(port, values)

    def close() -> None:
        close_mine()
        close_theirs()

    name = "gRPC" if protocol == ProtocolType.GRPC else "HTTP"
    programs = {"facade": mine, "hand": theirs}
    return Workload(
        "64 MB in and out, system shared memory", name, programs, np.array_equal, 1.0, close
    )


def _facade(url: str, protocol: ProtocolType, values: Any) -> tuple[Any, Any]:
    key = f"/tritonclient_shim_bench_{os.getpid()}_{int(protocol)}"
    given = our_shm.create_shared_memory_region(f"our_in_{int(protocol)}", f"{key}_in", SIZE)
    taken = our_shm.create_shared_memory_region(f"our_out_{int(protocol)}", f"{key}_out", SIZE)
    control = SharedMemoryControlContext(url, protocol)
    control.register(given)
    control.register(taken)
    ctx = InferContext(url, protocol, "identity_fp32")

    def call() -> Any:
        our_shm.set_shared_memory_region(given, [values])
        return ctx.run({"INPUT0": (given, [COUNT])}, {"OUTPUT0": (RAW, taken)}, 1)["OUTPUT0"][0]

    def close() -> None:
        for handle in (given, taken):
            control.unregister(handle)
            our_shm.destroy_shared_memory_region(handle)

    return call, close


def _hand(port: HandPort, values: Any) -> tuple[Any, Any]:
    key = f"/tritonclient_hand_bench_{os.getpid()}_{port.module.__name__[-4:]}"
    name = port.module.__name__[-4:]
    given = their_shm.create_shared_memory_region(f"their_in_{name}", f"{key}_in", SIZE)
    taken = their_shm.create_shared_memory_region(f"their_out_{name}", f"{key}_out", SIZE)
    port.client.register_system_shared_memory(f"their_in_{name}", f"{key}_in", SIZE)
    port.client.register_system_shared_memory(f"their_out_{name}", f"{key}_out", SIZE)

    def call() -> Any:
        their_shm.set_shared_memory_region(given, [values])
        tensor = port.module.InferInput("INPUT0", [1, COUNT], "FP32")
        tensor.set_shared_memory(f"their_in_{name}", SIZE)
        wanted = port.module.InferRequestedOutput("OUTPUT0")
        wanted.set_shared_memory(f"their_out_{name}", SIZE)
        port.client.infer("identity_fp32", [tensor], outputs=[wanted])
        return their_shm.get_contents_as_numpy(taken, np.float32, [COUNT])

    def close() -> None:
        for region in (f"their_in_{name}", f"their_out_{name}"):
            port.client.unregister_system_shared_memory(region)
        for handle in (given, taken):
            their_shm.destroy_shared_memory_region(handle)

    return call, close
