"""Contract: asynchronous inference."""

from __future__ import annotations

from functools import partial
from queue import SimpleQueue

import numpy as np

from tests.backends.contract_calls import (
    PATIENCE,
    array_of,
    outcome_of,
    simple,
    single,
    slow,
    tensor,
)
from tritonclient_shim.backends.base import Backend, Outcome
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import InferReply


class AsyncContract:
    """Fixtures as in :mod:`contract`."""

    def test_async(self, backend: Backend) -> None:
        """The outcome of an asynchronous call is the reply."""
        outcome = outcome_of(backend, simple(request_id="5"))
        assert isinstance(outcome, InferReply)
        assert outcome.request_id == "5"

    def test_async_error(self, backend: Backend) -> None:
        """A refusal is an outcome too; it is not raised."""
        outcome = outcome_of(backend, simple(model_name="no_such_model"))
        assert isinstance(outcome, ServerError)
        assert outcome.code == "NOT_FOUND"

    def test_async_has_read_the_buffers(self, backend: Backend) -> None:
        """The caller may overwrite an array as soon as the call returns."""
        # docs/v2-mapping.md §10
        value = np.ones((1, 1 << 16), np.float32)
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        backend.infer_async(single("identity_fp32", tensor("INPUT0", value)), outcomes.put)
        value[:] = -1
        outcome = outcomes.get(timeout=PATIENCE)
        assert isinstance(outcome, InferReply)
        np.testing.assert_array_equal(array_of(outcome.outputs[0]), np.ones_like(value))

    def test_async_is_concurrent(self, backend: Backend) -> None:
        """A quick call overtakes slow ones that were started before."""
        finished: SimpleQueue[str] = SimpleQueue()
        for _ in range(3):
            backend.infer_async(slow(1.0), lambda outcome: finished.put("slow"))
        backend.infer_async(simple(), lambda outcome: finished.put("quick"))
        order = [finished.get(timeout=PATIENCE) for _ in range(4)]
        assert order == ["quick", "slow", "slow", "slow"]

    def test_async_many(self, backend: Backend) -> None:
        """Of far more calls than connections, each has exactly one outcome."""
        outcomes: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
        for number in range(200):
            call = simple(request_id=str(number + 1))
            backend.infer_async(call, partial(_put, outcomes, number))
        received = [outcomes.get(timeout=PATIENCE) for _ in range(200)]
        assert sorted(number for number, _ in received) == list(range(200))
        assert all(reply.request_id == str(n + 1) for n, reply in received)  # type: ignore[union-attr]
        assert outcomes.empty()

    def test_call_from_done(self, backend: Backend) -> None:
        """``done`` may start the next call."""
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        backend.infer_async(simple(), lambda first: backend.infer_async(simple(), outcomes.put))
        assert isinstance(outcomes.get(timeout=PATIENCE), InferReply)


def _put(outcomes: SimpleQueue[tuple[int, Outcome]], number: int, outcome: Outcome) -> None:
    outcomes.put((number, outcome))
