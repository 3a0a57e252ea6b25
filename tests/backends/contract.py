"""The contract of every backend.

``test_contract.py`` runs it over a real server for each protocol, ``test_in_process_contract.py``
for the server inside the process.

Fixtures: ``backend`` is an open backend on a server with the standard models, ``dead_backend`` a
backend on a port where nothing listens. ``open_backend`` opens further backends on an Endpoint.
"""

from __future__ import annotations

import threading
import time
import uuid
from multiprocessing.shared_memory import SharedMemory
from queue import SimpleQueue
from typing import Any, Iterator

import numpy as np
import pytest

from tests.backends.contract_calls import (
    AWKWARD_NAME,
    ONE,
    PATIENCE,
    SIXTEEN,
    array_of,
    outcome_of,
    simple,
    single,
    slow,
    tensor,
)
from tests.backends.contract_inference import InferenceContract
from tests.backends.contract_refusals import RefusalContract
from tritonclient_shim.backends.base import Backend, Outcome
from tritonclient_shim.core.errors import BackendError, ServerError, TransportError
from tritonclient_shim.core.model import (
    InferReply,
    ModelConfigDocument,
    OutputSpec,
    ShmSlice,
    TensorIn,
    TensorMetadata,
)


class Contract(InferenceContract, RefusalContract):
    """The server, its models, the client behind a backend, and shared memory."""

    def test_health(self, backend: Backend) -> None:
        """A running server is live and ready (KServe v2)."""
        assert backend.live() is True
        assert backend.ready() is True

    def test_server_metadata(self, backend: Backend) -> None:
        """The server's metadata have its name and version."""
        metadata = backend.server_metadata()
        assert metadata.name == "triton"
        assert metadata.version[0].isdigit()

    def test_model_metadata(self, backend: Backend) -> None:
        """A model's metadata have names, data types and shapes, the batch dimension first."""
        metadata = backend.model_metadata("simple")
        assert [*metadata.inputs, *metadata.outputs] == [
            TensorMetadata(name, "INT32", (-1, 16))
            for name in ("INPUT0", "INPUT1", "OUTPUT0", "OUTPUT1")
        ]
        with pytest.raises(ServerError) as caught:
            backend.model_metadata("no such model")
        assert caught.value.code == "NOT_FOUND"
        assert "'no such model'" in caught.value.message

    def test_model_config(self, backend: Backend) -> None:
        """A configuration comes complete, as protobuf bytes or decoded JSON."""
        document = backend.model_config("simple")
        assert isinstance(document, ModelConfigDocument)
        assert document.backend == "python"
        assert document.decoupled is False
        content = document.content
        name = content.encode() if isinstance(content, str) else content
        assert b"INPUT0" in name if isinstance(name, bytes) else name["input"][0]["name"]

    @pytest.mark.parametrize("name", ["no_such_model", "no such model", "spare"])
    def test_model_config_of_unknown_model(self, backend: Backend, name: str) -> None:
        """Unknown and unloaded models are NOT_FOUND, and the text has the user's name."""
        with pytest.raises(ServerError) as caught:
            backend.model_config(name)
        assert caught.value.code == "NOT_FOUND"
        assert caught.value.message.startswith(f"Request for unknown model: '{name}' ")

    def test_model_configs(self, backend: Backend) -> None:
        """Several configurations requested at once equal single ones, without refused ones."""
        names = ["simple", "no_such_model", "identity_fp32", "spare", "slow", "failing", "classify"]
        documents = backend.model_configs(names)
        assert list(documents) == ["simple", "identity_fp32", "slow", "failing", "classify"]
        assert documents["classify"].content == backend.model_config("classify").content

    def test_statistics_count_inferences(self, backend: Backend) -> None:
        """An inference of three rows changes the statistics of its model."""
        rows = np.zeros((3, 16), np.int32)
        (before,) = backend.statistics("simple")
        backend.infer(simple(rows, rows))
        after = self._once_counted(backend, before.success.count)
        assert (after.name, after.version) == ("simple", "1")
        assert after.inference_count == before.inference_count + 3
        assert after.execution_count == before.execution_count + 1
        assert after.success.count == before.success.count + 1
        assert after.success.ns > before.success.ns
        assert after.last_inference_ms > 1_500_000_000_000
        batch = {batch.batch_size: batch for batch in after.batches}[3]
        assert batch.compute_infer.count >= 1
        assert batch.compute_infer.ns > 0

    def _once_counted(self, backend: Backend, known: int) -> Any:
        """Return the statistics once they count a new success. Triton counts after it answers."""
        end = time.monotonic() + 10
        while True:
            (statistics,) = backend.statistics("simple")
            if statistics.success.count > known or time.monotonic() > end:
                return statistics

    def test_statistics_of_all_models(self, backend: Backend) -> None:
        """Statistics without a name have an entry per loaded model version."""
        versions = {(row.name, row.version) for row in backend.statistics()}
        assert {("simple", "1"), ("multi_version", "1"), ("multi_version", "3")} <= versions

    def test_statistics_of_unknown_model(self, backend: Backend) -> None:
        """Statistics of an unknown model are an invalid argument in v2 (docs/v2-mapping.md §6)."""
        with pytest.raises(ServerError) as caught:
            backend.statistics("no_such_model")
        assert caught.value.code == "INVALID_ARGUMENT"
        assert caught.value.message == "requested model 'no_such_model' is not available"

    def test_repository_index(self, backend: Backend) -> None:
        """The index has a row per version of loaded models, and a bare row of other models."""
        rows = backend.repository_index()
        assert {(row.name, row.version, row.state) for row in rows if row.name == "simple"} == {
            ("simple", "1", "READY")
        }
        versions = sorted(row.version for row in rows if row.name == "multi_version")
        assert versions == ["1", "2", "3"]
        assert [row.name for row in rows].count("broken") == 1

    def test_load_and_unload(self, backend: Backend) -> None:
        """After load a model answers. After unload it is unloading or gone."""
        backend.load("spare")
        try:
            value = tensor("INPUT0", np.array([[4.5]], np.float32))
            assert array_of(backend.infer(single("spare", value)).outputs[0]).item() == 4.5
        finally:
            backend.unload("spare")
        states = {row.state for row in backend.repository_index() if row.name == "spare"}
        assert states <= {"UNLOADING", "UNAVAILABLE", ""}

    def test_load_of_unknown_model(self, backend: Backend) -> None:
        """A failed load has the server's text."""
        with pytest.raises(ServerError) as caught:
            backend.load("no_such_model")
        assert caught.value.code == "INTERNAL"
        expected = "failed to load 'no_such_model', failed to poll from model repository"
        assert caught.value.message == expected

    def test_unload_of_unknown_model(self, backend: Backend) -> None:
        """Unloading an unknown model succeeds, as in v1 (docs/v1-behaviour.md §6.4)."""
        assert backend.unload("no_such_model") is None
        assert "no_such_model" not in [row.name for row in backend.repository_index()]

    def test_client(self, backend: Backend) -> None:
        """tritonclient's client behind a backend works, from another thread as well."""
        answers: SimpleQueue[Any] = SimpleQueue()
        client = backend.client()
        worker = threading.Thread(target=lambda: answers.put(client.is_model_ready("simple")))
        worker.start()
        worker.join(PATIENCE)
        assert answers.get_nowait() is True
        assert type(client).__name__ == "InferenceServerClient"
        assert backend.client() is client

    def test_no_server(self, dead_backend: Backend) -> None:
        """Without a listener every call is a TransportError with v1's prefix."""
        # docs/v1-behaviour.md §3.1
        calls = (
            dead_backend.live,
            dead_backend.ready,
            dead_backend.server_metadata,
            lambda: dead_backend.model_config("simple"),
            lambda: dead_backend.model_configs(["simple"]),
            lambda: dead_backend.infer(simple()),
            lambda: dead_backend.unregister("x"),
        )
        for call in calls:
            with pytest.raises(TransportError, match="^(HTTP|GRPC) client failed: ") as caught:
                call()
            assert caught.value.__cause__ is not None

    def test_two_backends_one_endpoint(self, backend: Backend, open_backend: Any) -> None:
        """Closing a backend does not disturb another on shared connections."""
        other = open_backend(backend.endpoint)
        assert other.live()
        other.close()
        assert backend.live()

    def test_close(self, backend: Backend) -> None:
        """A backend may be closed twice. Every later call is a BackendError."""
        backend.live()
        backend.close()
        backend.close()
        for call in (lambda: backend.infer(simple()), backend.server_metadata):
            with pytest.raises(TransportError, match="closed"):
                call()
        assert isinstance(outcome_of(backend, simple()), BackendError)

    def test_close_with_calls_in_flight(self, backend: Backend) -> None:
        """Every call has one outcome, also if the backend is closed meanwhile."""
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        for _ in range(3):
            backend.infer_async(slow(0.2), outcomes.put)
        backend.close()
        received = [outcomes.get(timeout=PATIENCE) for _ in range(3)]
        assert all(isinstance(outcome, (InferReply, BackendError)) for outcome in received)

    # shared memory

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
