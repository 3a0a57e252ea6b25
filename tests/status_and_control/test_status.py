"""ServerStatusContext: models, versions, states and counts (docs/v1-behaviour.md §6.2)."""

from __future__ import annotations

import json
import shutil
import time
from itertools import product
from typing import Any, Callable, Iterator

import numpy as np
import pytest
import tritonclient.http

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    ServerStatus,
    ServerStatusContext,
    server_status_pb2,
)
from testbed import TritonServer, repository
from tests.generation_marks import not_on
from tests.infer_cases import RAW, wait_for

READY = server_status_pb2.MODEL_READY


def status_of(server: Any, protocol: int, model_name: str | None = None) -> ServerStatus:
    with ServerStatusContext(server.url(protocol), protocol, model_name) as context:
        return context.get_server_status()


def run(server: Any, protocol: int, model: str, data: np.ndarray, batch: int) -> None:
    with InferContext(server.url(protocol), protocol, model) as context:
        context.run({"INPUT0": [data] * batch}, {"OUTPUT0": RAW}, batch)


def wait_until_unloaded(server: Any, name: str) -> None:
    def state() -> int:
        return status_of(server, 0, name).model_status[name].version_status[1].ready_state

    wait_for(lambda: state() == server_status_pb2.MODEL_UNAVAILABLE)


def counted_status(
    server: Any, protocol: int, name: str, inferences: int, model_name: str | None = None
) -> ServerStatus:
    """Return the status once it counts ``inferences``. Triton counts shortly after it replies."""
    seen: list[ServerStatus] = []

    def counted() -> bool:
        seen.append(status_of(server, protocol, model_name))
        version = seen[-1].model_status[name].version_status[1]
        return version.model_inference_count == inferences

    wait_for(counted)
    return seen[-1]


@pytest.mark.smoke
def test_all_models(triton: Any, protocol: int) -> None:
    """model_name None returns v1's message with every model that was ever loaded, and no other."""
    # docs/v1-behaviour.md §6.2
    status = status_of(triton, protocol)
    assert isinstance(status, ServerStatus)
    assert (status.id, status.version.split(".")[0]) == ("triton", "2")
    assert status.ready_state == server_status_pb2.SERVER_READY
    assert set(repository.LOADED_AT_START) <= set(status.model_status)
    assert "no_such_model" not in status.model_status
    assert all(m.config.name == name for name, m in status.model_status.items())
    assert status.model_status["simple"].version_status[1].ready_state == READY


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """Yield a server with a loaded model that was deleted on disk."""
    folder = tmp_path_factory.mktemp("models")
    repository.write(folder, ["multi_version"])
    with TritonServer.start(["multi_version"], folder) as server:
        shutil.rmtree(folder / "multi_version")
        yield server


def test_model_deleted_on_disk(changing: Any, protocol: int) -> None:
    """A model deleted on disk stays loaded, with configuration and all versions."""
    # docs/v1-behaviour.md §E.12
    for name in (None, "multi_version"):
        model = status_of(changing, protocol, name).model_status["multi_version"]
        assert model.config.max_batch_size == 8
        assert {n: v.ready_state for n, v in model.version_status.items()} == dict.fromkeys(
            (1, 2, 3), READY
        )


@pytest.mark.smoke
def test_unknown_model(start_triton: Callable[..., Any]) -> None:
    """An unknown model and a model never loaded give v1's server error."""
    # docs/v1-behaviour.md §6.2
    server = start_triton([], server_id="inference:0")
    for name, protocol in product(("no_such_model", "spare"), (0, 1)):
        context = ServerStatusContext(server.url(protocol), protocol, name)
        with pytest.raises(InferenceServerException) as caught:
            context.get_server_status()
        error, message = caught.value, f"no status available for unknown model '{name}'"
        assert error.message() == message
        assert error.server_id() == "inference:0"
        assert error.request_id() > 0
        assert str(error) == f"[inference:0 {error.request_id()}] {message}"
        assert context.get_last_request_id() is None
        context.close()


@pytest.fixture(scope="module")
def counting() -> Iterator[TritonServer]:
    """Yield a server that counts only these tests' requests."""
    with TritonServer.start(["spare", "simple", "slow"]) as server:
        yield server


def load_again(server: TritonServer, protocol: int, name: str) -> None:
    """Unload and load a model, so that its counts begin with 0."""
    with ModelControlContext(server.url(protocol), protocol) as control:
        control.unload(name)
        wait_until_unloaded(server, name)
        control.load(name)


def test_inference_counts(counting: TritonServer, protocol: int) -> None:
    """infer_stats has queue and compute times by request batch size."""
    # docs/v1-behaviour.md §6.2
    load_again(counting, protocol, "spare")
    before = int(time.time() * 1000)
    for batch in (1, 4, 4):
        run(counting, protocol, "spare", np.array([1], dtype=np.float32), batch)
    for model_name in ("spare", None):
        status = counted_status(counting, protocol, "spare", 9, model_name)
        version = status.model_status["spare"].version_status[1]
        assert (version.model_execution_count, version.model_inference_count) == (3, 9)
        assert before <= version.last_inference_timestamp_milliseconds <= time.time() * 1000
        rows = version.infer_stats
        assert {size: row.success.count for size, row in rows.items()} == {1: 1, 4: 2}
        four = rows[4]
        assert four.success.total_time_ns >= four.compute.total_time_ns > 0
        parts = (four.compute_input, four.compute_infer, four.compute_output)
        assert four.compute.total_time_ns == sum(part.total_time_ns for part in parts)
        assert (four.compute.count, four.queue.count) == (2, 2)
        assert not four.HasField("failed")
    assert len(status.model_status["simple"].version_status[1].infer_stats) == 0


def test_failures_are_counted_with_the_others(counting: TritonServer, protocol: int) -> None:
    """Failed requests count under batch size 1, as v2's other counts, and add no other size."""
    # docs/v1-behaviour.md §6.2

    def counts() -> list[tuple[int, int, int]]:
        model = status_of(counting, protocol, "slow").model_status["slow"]
        rows = model.version_status[1].infer_stats.items()
        return [(size, row.success.count, row.failed.count) for size, row in rows]

    ((size, succeeded, failed),) = counts() or [(1, 0, 0)]
    run(counting, protocol, "slow", np.array([0], dtype=np.float32), 1)
    for _ in range(2):
        with pytest.raises(InferenceServerException, match="must be non-negative"):
            run(counting, protocol, "slow", np.array([-1], dtype=np.float32), 1)
    wait_for(lambda: counts() == [(size, succeeded + 1, failed + 2)])


def test_failed_server(failed_server: Any, protocol: int) -> None:
    """A server that failed to start has FAILED_TO_INITIALIZE, no models, its id, and uptime > 0."""
    # docs/v1-behaviour.md §E.12
    status = status_of(failed_server, protocol)
    with pytest.raises(InferenceServerException, match="no status available for unknown"):
        status_of(failed_server, protocol, "simple")
    assert status.ready_state == server_status_pb2.SERVER_FAILED_TO_INITIALIZE
    assert (status.id, len(status.model_status)) == ("inference:0", 0)
    assert status.version
    assert status.uptime_ns > 0


def test_model_out_of_a_request(start_triton: Callable[..., Any]) -> None:
    """A model whose files came in a request, as with PyTriton, has a full status."""
    # docs/v2-mapping.md §13
    server = start_triton(["spare"])
    config = {**repository.MODELS["spare"].config, "name": "sent"}
    files = {"file:1/model.py": repository.SOURCE.read_bytes()}
    with tritonclient.http.InferenceServerClient(server.http) as client:
        client.load_model("sent", config=json.dumps(config), files=files)
        both = [status_of(server, number, "sent") for number in (0, 1)]
        every = [status_of(server, number) for number in (0, 1)]
        client.unload_model("sent")  # with its folder in /tmp
    for status in (*both, *every):
        assert status.model_status["sent"].config.max_batch_size == 8
        assert status.model_status["sent"].version_status[1].ready_state == READY


@not_on("2.33", "has no --http-restricted-api")
def test_restricted_server(start_triton: Callable[..., Any]) -> None:
    """A server without index and statistics still gives a model's configuration and state."""
    secret = "--http-restricted-api=model-repository,statistics:secret=yes"
    server = start_triton(["spare"], extra_args=[secret])
    model = status_of(server, 0, "spare").model_status["spare"]
    assert (model.config.max_batch_size, model.version_status[1].ready_state) == (8, READY)
    with pytest.raises(InferenceServerException, match="restricted"):
        status_of(server, 0)
    with pytest.raises(InferenceServerException, match="no status available for unknown model"):
        status_of(server, 0, "simple")
