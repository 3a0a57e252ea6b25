"""Names that a proxy would resolve as steps of a path never become part of a path."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from testbed import TritonServer
from tests.nginx import nginx
from tests.shared_memory.shm_cases import Regions
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.errors import Unsendable
from tritonclient_shim.core.model import Endpoint, InferCall, OutputSpec, TensorIn

STEPS = [".", "..", "x/../..", "../x", "x\\..\\.."]
REFUSED = (
    "[ 0] HTTP client failed: the name {!r} cannot be sent over HTTP, where '.' and '..' are "
    "steps in a path; expected a name without such parts: use gRPC, or another name"
)


@contextmanager
def refused(name: str) -> Iterator[None]:
    """Check that the client refuses this name in the block."""
    with pytest.raises(InferenceServerException) as caught:
        yield
    assert str(caught.value) == REFUSED.format(name)


@pytest.fixture
def proxy(triton: TritonServer, tmp_path: Path) -> Iterator[str]:
    """Yield the address of an nginx in front of the server that resolves the paths it passes on."""
    # With the "/" after the target nginx sends on the decoded and resolved path.
    with nginx(tmp_path, f"location / {{ proxy_pass http://{triton.http}/; }}") as address:
        yield address


@pytest.mark.parametrize("name", STEPS)
def test_a_region_behind_a_proxy(proxy: str, triton: TritonServer, name: str) -> None:
    """Unregistering such a name unregisters no other region, whatever a proxy makes of the name."""
    regions = Regions(triton.grpc, 1)
    try:
        regions.empty(64, "kept")
        odd = regions.create(64, name)
        with SharedMemoryControlContext(proxy, 0) as control:
            for act in (control.register, control.unregister):
                with refused(name):
                    act(odd)
        assert "kept" in regions.listed()
    finally:
        regions.remove()


@pytest.mark.parametrize("name", STEPS)
def test_a_model(triton: TritonServer, name: str) -> None:
    """A request for a model of such a name is refused and not sent."""
    with refused(name):
        InferContext(triton.http, 0, name)
    with ServerStatusContext(triton.http, 0, name) as status, refused(name):
        status.get_server_status()


@pytest.mark.parametrize("name", STEPS)
def test_all_paths(name: str) -> None:
    """Every path of the backend with a name or version in it refuses such a name."""
    backend = open_backend(Endpoint("http", "127.0.0.1:9"))  # nothing is sent
    data = np.zeros(1, dtype=np.int32)
    tensors = (TensorIn("I", "INT32", (1,), (data,), 4),), (OutputSpec("O"),)
    asks: list[Callable[[], Any]] = [
        lambda: backend.model_config(name),
        lambda: backend.model_config("m", name),
        lambda: backend.statistics(name),
        lambda: backend.statistics("m", name),
        lambda: backend.load(name),
        lambda: backend.unload(name),
        lambda: backend.infer(InferCall(name, "", *tensors)),
        lambda: backend.infer(InferCall("m", name, *tensors)),
        lambda: backend.register_system(name, "/k", 64),
        lambda: backend.register_cuda(name, b"0" * 64, 0, 64),
        lambda: backend.unregister(name),
    ]
    for ask in asks:
        with pytest.raises(Unsendable, match="HTTP client failed: the name .* cannot be sent"):
            ask()


@pytest.mark.parametrize("name", ["...", "a..b", "a.", "..;", "%2e%2e", "a%2F..", "é", "a?b#c;d"])
def test_other_names_pass_a_proxy(proxy: str, triton: TritonServer, name: str) -> None:
    """Every other name reaches the server unchanged, through a proxy that resolves paths."""
    regions = Regions(proxy, 0)
    try:
        odd = regions.empty(64, name)
        assert name in regions.listed()
        with Regions(triton.grpc, 1).control as direct:
            rows = direct.get_shared_memory_status().shared_memory_region
            assert name in [row.name for row in rows]
        regions.control.unregister(odd)
        assert name not in regions.listed()
    finally:
        regions.remove()
