"""Shared memory on servers that have none (docs/servers.md)."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ProtocolType,
    SharedMemoryControlContext,
)
from testbed.process import RunningServer
from tests.oip.test_contexts import RAW, run

ROW = np.arange(16, dtype=np.int32)


@pytest.fixture
def region() -> Iterator[Any]:
    """Yield the handle of a region that holds one row."""
    handle = shm.create_shared_memory_region("open_region", "/open_region", ROW.nbytes)
    shm.set_shared_memory_region(handle, [ROW])
    yield handle
    shm.destroy_shared_memory_region(handle)


@pytest.mark.parametrize(
    "call",
    [
        lambda context, region: context.register(region),
        lambda context, region: context.unregister(region),
        lambda context, region: context.unregister_all(),
        lambda context, region: context.get_shared_memory_status(),
    ],
    ids=["register", "unregister", "unregister_all", "status"],
)
def test_control_is_refused(
    open_url: str, protocol: int, region: Any, call: Callable[[Any, Any], Any]
) -> None:
    """The error names the extension that the server lacks, and what to do instead."""
    context = SharedMemoryControlContext(open_url, ProtocolType(protocol))
    with pytest.raises(InferenceServerException, match="shared_memory, .*: pass tensors in req"):
        call(context, region)


@pytest.mark.parametrize("where", ["input", "output"])
def test_tensors_in_regions_are_refused(
    open_server: RunningServer, protocol: int, region: Any, where: str
) -> None:
    """Tensors in regions are refused before they are sent; arrays work, as the error advises."""
    url = open_server.url(protocol)
    inputs: dict[str, Any] = {"INPUT0": region if where == "input" else [ROW], "INPUT1": [ROW]}
    outputs: dict[str, Any] = {"OUTPUT0": RAW if where == "input" else (RAW, region)}
    with pytest.raises(InferenceServerException, match="shared memory needs .*: pass arrays"):
        run(url, protocol, "simple", inputs, outputs)
    context = InferContext(url, ProtocolType(protocol), "simple")
    result = context.run({"INPUT0": [ROW], "INPUT1": [ROW]}, {"OUTPUT0": RAW})
    context.close()
    np.testing.assert_array_equal(result["OUTPUT0"], [2 * ROW])
