"""Unregistering shared-memory regions that a request uses (docs/v1-behaviour.md §6.5)."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferContext, InferenceServerException
from tests.generation_marks import not_on
from tests.server.shm_cases import Regions, name_of, refused
from tritonclient_shim.core.errors import ServerFault

pytest_plugins = ["tests.server.shm_fixtures"]

RAW = InferContext.ResultFormat.RAW


def keep_in_use(context: InferContext, regions: Regions, handle: Any, seconds: float) -> int:
    """Run ``slow`` on a region; returns the request's id once the server uses the region."""
    shm.set_shared_memory_region(handle, [np.array([seconds], np.float32)])
    for attempt in range(1, 10):
        request_id = context.async_run({"INPUT0": handle}, {"OUTPUT0": RAW})
        assert request_id is not None
        threading.Event().wait(0.05 * attempt)  # nothing tells when a request has arrived
        try:
            regions.control._ctx.backend.unregister(name_of(handle))  # type: ignore[union-attr]
        except ServerFault as fault:
            assert "currently in use" in fault.message
            return request_id
        regions.control.register(handle)  # too early
        with suppress(InferenceServerException):
            context.get_async_run_results(request_id, True)
    raise AssertionError("the request never came to use the region")


@not_on("2.33", "unregisters a region although a request uses it, as v1 did")
@pytest.mark.parametrize("everything", [False, True])
def test_unregister_in_use(regions: Regions, url: str, protocol: int, everything: bool) -> None:
    """v1 unregistered regions in use as well; a v2 server's refusal is waited out."""
    # docs/v1-behaviour.md §6.5
    handle = regions.empty(4)
    with InferContext(url, protocol, "slow") as context:
        request_id = keep_in_use(context, regions, handle, 0.5)
        if everything:
            regions.control.unregister_all()
        else:
            regions.control.unregister(handle)
        assert name_of(handle) not in regions.listed()
        results = context.get_async_run_results(request_id, True)
    assert results is not None and results["OUTPUT0"][0].tolist() == [0.5]


@not_on("2.33", "unregisters a region although a request uses it, as v1 did")
def test_unregister_does_not_wait_for_ever(
    regions: Regions, url: str, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A region that stays in use is refused in the server's words (docs/v2-mapping.md §8)."""
    handle = regions.empty(4)
    with InferContext(url, protocol, "slow") as context:
        request_id = keep_in_use(context, regions, handle, 1.5)
        monkeypatch.setattr("tritonclient_shim.session.shared_memory.PATIENCE", 0.0)
        name = name_of(handle)
        with refused(f"Cannot unregister shared memory region '{name}', it is currently in use."):
            regions.control.unregister(handle)
        monkeypatch.undo()
        context.get_async_run_results(request_id, True)
