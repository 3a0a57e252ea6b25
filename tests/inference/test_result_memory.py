"""Results are fresh arrays, each with memory of its own (docs/v1-behaviour.md §4.1)."""

from __future__ import annotations

import tracemalloc
from typing import Any, Callable

import numpy as np
import pytest

from tensorrtserver.api import InferContext
from tests.infer_cases import BOTH, ONE
from tritonclient_shim.translate.result import arrays

Connect = Callable[..., InferContext]
LARGE = np.zeros(1 << 20, np.float32)
MEBIBYTE = 1 << 20


def run(context: InferContext, inputs: Any, outputs: Any, batch: int) -> Any:
    """Return the results of ``run``."""
    return context.run(inputs, outputs, batch)


def async_run(context: InferContext, inputs: Any, outputs: Any, batch: int) -> Any:
    """Return the results of ``async_run``."""
    request_id = context.async_run(inputs, outputs, batch)
    return context.get_async_run_results(request_id, True)


both_styles = pytest.mark.parametrize("style", [run, async_run])


def kept_bytes(make: Callable[[], Any]) -> int:
    """Return the bytes that five results of ``make`` hold. A stream holds its last reply, too."""
    tracemalloc.start()
    try:
        results = [make() for _ in range(5)]
        before = tracemalloc.get_traced_memory()[0]
        results.clear()
        return before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@both_styles
def test_a_small_result_keeps_no_neighbour(open_context: Connect, style: Any) -> None:
    """A small result does not keep a large result of the same reply."""
    context = open_context("two_inputs_variable")

    def small_results() -> list[Any]:
        # Over HTTP the sizes change the length of the header, and so the alignment of the bytes.
        requests = [{"INPUT0": [LARGE[:size]], "INPUT1": [LARGE]} for size in (1, 4, 10, 25)]
        return [style(context, inputs, BOTH, 1)["OUTPUT0"] for inputs in requests]

    assert kept_bytes(small_results) < MEBIBYTE


@both_styles
def test_an_entry_keeps_no_batch(open_context: Connect, style: Any) -> None:
    """One entry of a batch does not keep the other entries."""
    context = open_context("identity_fp32")
    inputs = {"INPUT0": [LARGE[: 1 << 17]] * 8}  # 512 KiB each
    assert kept_bytes(lambda: style(context, inputs, ONE, 8)["OUTPUT0"][3]) < 5 * MEBIBYTE


@both_styles
def test_an_entry_of_strings_keeps_no_batch(open_context: Connect, style: Any) -> None:
    """One entry of a batch of strings does not keep the strings of the other entries."""
    context = open_context("identity_string")
    inputs = {"INPUT0": [np.array([b"x" * (MEBIBYTE // 2)], object)] * 8}
    assert kept_bytes(lambda: style(context, inputs, ONE, 8)["OUTPUT0"][3]) < 5 * MEBIBYTE


def test_a_large_result_stays_where_it_was_received() -> None:
    """A result that is most of its reply is not copied."""
    received = np.zeros(MEBIBYTE, np.uint8)
    (entry,) = arrays("FP32", (1 << 16,), received.data[: 4 << 16], 1)
    assert not np.shares_memory(entry, received)
    (entry,) = arrays("FP32", (3 << 16,), received.data[: 12 << 16], 1)
    assert np.shares_memory(entry, received)


def test_entries_are_apart() -> None:
    """Entries are C-contiguous and writable, and a write to one changes no other."""
    batch = np.arange(6, dtype=np.float32)
    frozen = bytes(batch)
    for data in (frozen, memoryview(frozen), memoryview(b"x" + frozen)[1:], batch.data.cast("B")):
        for dims in ((2, 1), (1, 2), (2,)):
            entries = arrays("FP32", dims, data, 3)
            assert [entry.shape for entry in entries] == [dims] * 3
            assert all(entry.flags.carray and not entry.flags.owndata for entry in entries)
            entries[0][:] = 9
            assert [entry.ravel().tolist() for entry in entries[1:]] == [[2, 3], [4, 5]]
            batch[:2] = 0, 1
