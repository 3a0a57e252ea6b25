"""Shared-memory regions that disappear from a server between two calls, or during a call."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferContext, SharedMemoryControlContext
from tests.infer_cases import wait_for
from tests.reliability.identified_calls import STYLES, Outcome, in_style, numbers, payload, within
from tests.reliability.server_process import ServerProcess, some_of

BOUND = 60.0  # seconds that no call may take on a busy machine
SIZE = 300_000  # elements: more than a page, and copied through a mapping
LOST = ("HTTP client failed: Server returned nothing", "GRPC client failed: 14: Socket closed")


class Input(NamedTuple):
    """A registered region with a request's input."""

    server: ServerProcess
    name: str
    handle: Any
    data: Any

    def unlink(self) -> None:
        """Remove the key. Existing mappings stay."""
        os.unlink(f"/dev/shm/{self.name}")

    def unregister(self) -> None:
        """Unregister the region as another process would, without waiting."""
        with SharedMemoryControlContext(self.server.url(0), 0) as control:
            control.unregister(self.handle)

    def shrink(self) -> None:
        """Make the region smaller than the request's input."""
        os.truncate(f"/dev/shm/{self.name}", 0)


#: Events between two calls, and the beginnings of the next message; empty for a success.
IDLE: dict[str, tuple[Callable[[Input], None], tuple[str, ...]]] = {
    "unlinked": (Input.unlink, ()),
    "unregistered": (Input.unregister, ("Unable to find shared memory region: ",)),
    "made smaller": (Input.shrink, LOST),  # Triton dies of SIGBUS
}
#: Events while the model has the request and has read its input.
WITHIN = {"unlinked": Input.unlink, "made smaller": Input.shrink}


@pytest.fixture
def shm_input(server: ServerProcess) -> Iterator[Input]:
    """Yield an input in a registered region."""
    number = next(numbers)
    name = f"shim_region_{os.getpid()}_{number}"
    handle = shm.create_shared_memory_region(name, f"/{name}", 4 * SIZE)
    data = payload(number, SIZE)
    shm.set_shared_memory_region(handle, [data])
    with SharedMemoryControlContext(server.url(0), 0) as control:
        control.register(handle)
    yield Input(server, name, handle, data)
    if os.path.exists(f"/dev/shm/{name}"):
        os.unlink(f"/dev/shm/{name}")


def call(context: InferContext, style: str, shm_input: Input) -> Outcome:
    """Return a call whose input is in the region."""
    outcome = in_style(context, style, {"INPUT0": (shm_input.handle, (SIZE,))})
    if outcome.error is None:
        np.testing.assert_array_equal(outcome.result, shm_input.data)
    assert len(outcome.callbacks) == outcome.expected_callbacks
    return outcome


@some_of(IDLE)
def test_between_two_calls(number: int, kind: str, name: str, shm_input: Input) -> None:
    """The next call succeeds, or reports the state of the region or the server."""
    happen, messages = IDLE[name]
    style = STYLES[number % len(STYLES)]
    context = shm_input.server.opened(kind)
    assert call(context, style, shm_input).message == ""
    happen(shm_input)
    outcome = within(BOUND, lambda: call(context, style, shm_input))
    assert outcome.message.startswith(messages) if messages else outcome.message == ""
    within(BOUND, context.close)
    if messages == LOST:
        wait_for(lambda: not shm_input.server.server.running)
        shm_input.server.start()


@some_of(WITHIN)
def test_within_a_call(number: int, kind: str, name: str, shm_input: Input) -> None:
    """The call succeeds with the data that the server has read."""
    context = shm_input.server.opened(kind)
    with ThreadPoolExecutor(1) as threads:
        shm_input.server.hold()
        under_way = threads.submit(call, context, "sync", shm_input)
        shm_input.server.wait_for_request()
        WITHIN[name](shm_input)
        shm_input.server.release()
        assert under_way.result(BOUND).message == ""
    within(BOUND, context.close)
