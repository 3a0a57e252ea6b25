"""A program that forks while its other threads use every part of the package.

The server is one of ``tritonclient_shim.testing``, whose models run in this process. It answers
thousands of requests in a second, and the children inherit it. Argument: the number of children.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Callable

import numpy as np

import tensorrtserver.shared_memory as shm
import tritonclient_shim
from tensorrtserver.api import InferContext, SharedMemoryControlContext
from tritonclient_shim import testing

RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
PATIENCE = 60  # seconds after which a child counts as hanging


@testing.model(inputs=[("INPUT0", "INT32", [4])], outputs=[("OUTPUT0", "INT32", [4])])
def identity(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the model's input."""
    return {"OUTPUT0": inputs["INPUT0"]}


def round_of(context: InferContext, control: SharedMemoryControlContext, name: str) -> None:
    """Use each part of the package once, and check the results."""
    number = len(name)
    inputs = {"INPUT0": [np.full(4, number, np.int32)]}
    result = [context.run(inputs, RAW)]
    result.append(context.get_async_run_results(context.async_run(inputs, RAW), True))
    done = threading.Event()
    context.async_run(lambda _, request_id: (ids.append(request_id), done.set()), inputs, RAW)
    ids: list[int] = []
    assert done.wait(PATIENCE)
    result.append(context.get_async_run_results(ids[0]))
    assert all(item["OUTPUT0"][0].tolist() == [number] * 4 for item in result)
    context.get_stat()
    tritonclient_shim.configure(network_timeout=30)
    handle = shm.create_shared_memory_region(name, f"/{name}", 16)
    try:
        control.register(handle)
        control.unregister(handle)
    finally:
        shm.destroy_shared_memory_region(handle)


def loop(url: str, shared: InferContext, name: str, ended: threading.Event) -> None:
    """Repeat rounds on a thread until the event is set.

    A process that ends would leave its regions.
    """
    with SharedMemoryControlContext(url, 0) as control:
        while not ended.is_set():
            round_of(shared, control, name)


def in_child(work: Callable[[], None]) -> bool:
    """True if a forked child does the work in time."""
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def main(children: int) -> None:
    """Fork repeatedly. The children use inherited contexts and contexts of their own."""
    with testing.server(identity=identity) as server:
        url = server.url(0)
        shared = InferContext(url, 0, "identity")
        prefix = f"shim_fork_{os.getpid()}_"

        def work() -> None:
            with SharedMemoryControlContext(url, 0) as control:
                round_of(shared, control, prefix + "c" * 7)
                with InferContext(url, 0, "identity") as own:
                    round_of(own, control, prefix + "c" * 8)

        work()  # imports everything that is needed: docs/processes.md
        ended = threading.Event()
        threads = [
            threading.Thread(target=loop, args=(url, shared, prefix + "t" * (number + 1), ended))
            for number in range(3)
        ]
        for thread in threads:
            thread.daemon = True
            thread.start()

        outcomes = [in_child(work) for _ in range(children)]
        assert all(outcomes), outcomes
        work()
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)
        sys.stdout.flush()
        os._exit(3)


if __name__ == "__main__":
    main(int(sys.argv[1]))
