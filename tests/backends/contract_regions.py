"""Contract: shared-memory regions."""

from __future__ import annotations

import uuid
from multiprocessing.shared_memory import SharedMemory
from typing import Iterator

import numpy as np
import pytest

from tests.backends.contract_calls import AWKWARD_NAME, ONE, SIXTEEN, simple, tensor
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import OutputSpec, ShmSlice, TensorIn


class RegionContract:
    """Fixtures as in :mod:`contract`."""

    @pytest.fixture
    def region(self) -> Iterator[SharedMemory]:
        """Yield a POSIX shared-memory object of 128 bytes."""
        memory = SharedMemory(f"contract-{uuid.uuid4().hex}", create=True, size=128)
        yield memory
        memory.close()
        memory.unlink()

    @pytest.mark.parametrize("name", ["plain-name_1.2~", AWKWARD_NAME])
    def test_system_region(self, backend: Backend, region: SharedMemory, name: str) -> None:
        """A region of any name works for inputs and outputs, and is listed by that name."""
        assert region.buf is not None
        region.buf[:64] = SIXTEEN.tobytes()
        backend.register_system(name, f"/{region.name}", 128)
        try:
            listed = [row for row in backend.shm_status() if row.name == name]
            assert [(row.kind, row.byte_size, row.offset) for row in listed] == [("system", 128, 0)]
            assert listed[0].key.strip("/") == region.name
            tensor_in = TensorIn("INPUT0", "INT32", (1, 16), shm=ShmSlice(name, 64))
            wanted = OutputSpec("OUTPUT0", shm=ShmSlice(name, 64, 64))
            inputs = (tensor_in, tensor("INPUT1", ONE))
            (output,) = backend.infer(simple(inputs=inputs, outputs=(wanted,))).outputs
            assert (output.datatype, output.shape, output.data) == ("INT32", (1, 16), None)
            result = np.frombuffer(bytes(region.buf[64:128]), np.int32)
            np.testing.assert_array_equal(result, SIXTEEN[0] + 1)
        finally:
            backend.unregister(name)
        assert name not in [row.name for row in backend.shm_status()]

    def test_region_errors_name_the_region(self, backend: Backend, region: SharedMemory) -> None:
        """Messages contain the user's name of a region, not the stored name."""
        backend.register_system(AWKWARD_NAME, f"/{region.name}", 128)
        try:
            with pytest.raises(ServerError) as caught:
                backend.register_system(AWKWARD_NAME, f"/{region.name}", 128)
        finally:
            backend.unregister(AWKWARD_NAME)
        expected = f"shared memory region '{AWKWARD_NAME}' already in manager"
        assert caught.value.message == expected
        tensor_in = TensorIn("INPUT0", "INT32", (1, 16), shm=ShmSlice(AWKWARD_NAME, 64))
        with pytest.raises(ServerError) as caught:
            backend.infer(simple(inputs=(tensor_in, tensor("INPUT1", ONE))))
        assert caught.value.code == "NOT_FOUND"
        assert caught.value.message == f"Unable to find shared memory region: '{AWKWARD_NAME}'"

    def test_register_without_object(self, backend: Backend) -> None:
        """The server refuses a key without shared-memory object."""
        with pytest.raises(ServerError) as caught:
            backend.register_system("nothing", "/no-such-object", 64)
        assert caught.value.code == "INTERNAL"
        assert caught.value.message.startswith("Unable to open shared memory region")

    def test_unregister_unknown(self, backend: Backend, region: SharedMemory) -> None:
        """Unregistering an unknown name succeeds, and an empty name does not mean all regions."""
        backend.register_system("kept", f"/{region.name}", 128)
        backend.unregister("no such region")
        backend.unregister("")
        assert "kept" in [row.name for row in backend.shm_status()]
        backend.unregister("kept")

    def test_unregister_all(self, backend: Backend, region: SharedMemory) -> None:
        """Unregistering all leaves no region registered."""
        backend.register_system("one", f"/{region.name}", 128)
        backend.unregister_all()
        assert backend.shm_status() == ()

    def test_register_cuda_without_gpu(self, backend: Backend) -> None:
        """A server without a GPU refuses a CUDA handle that it receives (docs/v2-mapping.md §8)."""
        with pytest.raises(ServerError) as caught:
            backend.register_cuda("gpu", bytes(64), 0, 1024)
        assert caught.value.code == "INVALID_ARGUMENT"
        assert "failed to register" in caught.value.message
