"""ServerStatusContext (v1 §6.2)."""

from __future__ import annotations

import shutil
import time
from typing import Any, Callable, Iterator

import numpy as np
import pytest
from google.protobuf import text_format
from odd_servers import start_failed_server

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    ServerStatus,
    ServerStatusContext,
    model_config_pb2,
    server_status_pb2,
)
from testbed import PyTritonServer, TritonServer, repository

RAW = InferContext.ResultFormat.RAW
READY = server_status_pb2.MODEL_READY


def status_of(server: Any, protocol: int, model_name: str | None = None) -> ServerStatus:
    with ServerStatusContext(server.url(protocol), protocol, model_name) as context:
        return context.get_server_status()


def run(server: Any, protocol: int, model: str, data: np.ndarray, batch: int) -> None:
    with InferContext(server.url(protocol), protocol, model) as context:
        context.run({"INPUT0": [data] * batch}, {"OUTPUT0": RAW}, batch)


# ------------------------------------------------------------------------------ the server


def test_all_models(triton: Any, protocol: int) -> None:
    """§6.2 model_name None: v1's message with every model that was loaded, and no other."""
    status = status_of(triton, protocol)
    assert isinstance(status, ServerStatus)
    assert (status.id, status.version.split(".")[0]) == ("triton", "2")
    assert status.ready_state == server_status_pb2.SERVER_READY
    assert set(repository.LOADED_AT_START) <= set(status.model_status)
    assert "no_such_model" not in status.model_status
    assert all(m.config.name == name for name, m in status.model_status.items())
    assert status.model_status["simple"].version_status[1].ready_state == READY


@pytest.mark.parametrize("name", [None, "", b""])
def test_no_name_is_all(triton: Any, protocol: int, name: Any) -> None:
    """§6.2 model_name None or '': all models."""
    assert len(status_of(triton, protocol, name).model_status) >= len(repository.LOADED_AT_START)


@pytest.mark.parametrize("name", ["simple", b"simple"])
def test_one_model(triton: Any, protocol: int, name: Any) -> None:
    """§6.2 model_name: only that model, of the server as much as with all."""
    status = status_of(triton, protocol, name)
    assert list(status.model_status) == ["simple"]
    assert status.ready_state == server_status_pb2.SERVER_READY
    assert (status.id, status.uptime_ns > 0) == ("triton", True)


@pytest.mark.parametrize("name", ["no_such_model", "spare"])
def test_unknown_model(start_triton: Callable[..., Any], name: str) -> None:
    """§6.2 unknown model: v1's server error; a model never loaded was not tracked either."""
    server = start_triton([], server_id="inference:0")
    for protocol in (0, 1):
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


def test_unset_counters(triton: Any, protocol: int) -> None:
    """§6.2: what v2 does not count is unset, not invented."""
    set_fields = {field.name for field, _ in status_of(triton, protocol).ListFields()}
    assert set_fields == {"id", "version", "uptime_ns", "model_status", "ready_state"}


def test_uptime_grows(triton: Any, protocol: int) -> None:
    """E.11 uptime_ns: positive, and grows from call to call and over contexts."""
    uptimes = [status_of(triton, protocol, "simple").uptime_ns for _ in range(4)]
    assert uptimes[0] > 0
    assert sorted(set(uptimes)) == uptimes


def test_text(triton: Any, protocol: int) -> None:
    """§6.2: printing a status looks like text-format protobuf, and reads back."""
    status = status_of(triton, protocol, "simple")
    assert str(status).startswith('id: "triton"\nversion: "')
    assert 'model_status {\n  key: "simple"\n' in str(status)
    assert text_format.Parse(str(status), ServerStatus()) == status


def test_missing_key_creates_an_entry(triton: Any, protocol: int) -> None:
    """legacy-usage: reading a missing model makes an empty entry of state UNKNOWN."""
    status = status_of(triton, protocol, "simple")
    version = status.model_status["other"].version_status[1]
    assert version.ready_state == server_status_pb2.MODEL_UNKNOWN
    assert "other" in status.model_status


def test_verbose(triton: Any, protocol: int, capfd: pytest.CaptureFixture[str]) -> None:
    """§10.2: the status's text and a blank line on stdout."""
    with ServerStatusContext(triton.url(protocol), protocol, "simple", True) as context:
        status = context.get_server_status()
    printed = capfd.readouterr()
    assert printed.out == f"{status}\n"
    assert printed.out.endswith("\n\n")
    assert printed.err == ""


# ------------------------------------------------------------------------ configurations


def test_config_of_a_classifier(triton: Any, protocol: int) -> None:
    """§8.3: what image clients read of a configuration."""
    config = status_of(triton, protocol, "image_classifier").model_status["image_classifier"].config
    (image,), (scores,) = config.input, config.output
    assert (image.name, list(image.dims)) == ("input", [3, 224, 224])
    assert image.format == model_config_pb2.ModelInput.FORMAT_NCHW
    assert (scores.name, scores.data_type) == ("probabilities", model_config_pb2.TYPE_FP32)
    assert (config.max_batch_size, scores.label_filename) == (8, "labels.txt")


def test_platform_is_never_empty(triton: Any, protocol: int) -> None:
    """§8.3 platform: the backend's name where v2 leaves it empty, ensembles keep theirs."""
    models = status_of(triton, protocol).model_status
    assert models["simple"].config.platform == "python"
    assert models["ensemble_simple"].config.platform == "ensemble"
    assert models["ensemble_simple"].config.HasField("ensemble_scheduling")
    assert all(models[name].config.platform for name in repository.LOADED_AT_START)


def test_datatypes(triton: Any, protocol: int) -> None:
    """§8.1 DataType: v1's numbers; BF16, which v1 lacks, keeps its number 14."""
    models = status_of(triton, protocol).model_status
    numbers = [
        models[f"identity_{name}"].config.input[0].data_type for name in repository.DATATYPES
    ]
    assert numbers == list(range(1, 15))


def test_both_protocols_agree(triton: Any) -> None:
    """§8.3: every configuration is the same over HTTP and gRPC."""
    first, second = (status_of(triton, protocol).model_status for protocol in (0, 1))
    for name in repository.LOADED_AT_START:
        assert first[name].config == second[name].config, name


def test_schedulers(triton: Any, protocol: int) -> None:
    """§8.3: sequence and dynamic batchers with what v1 knew of them."""
    models = status_of(triton, protocol).model_status
    batching = models["sequence_sum"].config.sequence_batching
    kinds = [one.control[0].kind for one in batching.control_input]
    assert model_config_pb2.ModelSequenceBatching.Control.CONTROL_SEQUENCE_CORRID in kinds
    policy = models["queue_policy"].config.dynamic_batching.default_queue_policy
    assert (policy.allow_timeout_override, policy.timeout_action) == (True, 0)
    assert models["identity_reshape"].config.input[0].reshape.shape == [2, 2]


# ------------------------------------------------------------------- versions and states


def test_versions(triton: Any, protocol: int) -> None:
    """§6.2 version_status: every version by its number."""
    versions = status_of(triton, protocol, "multi_version").model_status["multi_version"]
    assert {n: v.ready_state for n, v in versions.version_status.items()} == dict.fromkeys(
        (1, 2, 3), READY
    )
    assert not any(v.HasField("ready_state_reason") for v in versions.version_status.values())


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """One model unloaded, one failed to load, one deleted on disk, one in two repositories."""
    one, two = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    repository.write(one, ["simple", "spare", "broken", "multi_version", "slow"])
    repository.write(two, ["slow"])
    extra = [f"--model-repository={two}"]
    with TritonServer.start(["simple", "spare", "multi_version"], one, extra_args=extra) as server:
        with ModelControlContext(server.http, 0) as control:
            control.unload("spare")
            for name in ("broken", "slow"):
                with pytest.raises(InferenceServerException):
                    control.load(name)
        shutil.rmtree(one / "multi_version")
        wait_until_unloaded(server, "spare")
        yield server


def wait_until_unloaded(server: Any, name: str) -> None:
    deadline = time.monotonic() + 30
    unavailable = server_status_pb2.MODEL_UNAVAILABLE
    while (
        status_of(server, 0, name).model_status[name].version_status[1].ready_state != unavailable
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_unloaded_model(changing: Any, protocol: int) -> None:
    """§6.2: an unloaded model stays, UNAVAILABLE, reason `unloaded`; its config is its name."""
    for name in (None, "spare"):
        model = status_of(changing, protocol, name).model_status["spare"]
        version = model.version_status[1]
        assert version.ready_state == server_status_pb2.MODEL_UNAVAILABLE
        assert version.ready_state_reason.message == "unloaded"
        assert [field.name for field, _ in model.config.ListFields()] == ["name"]


def test_failed_model(changing: Any, protocol: int) -> None:
    """§6.2 ready_state_reason: the status text of a failed load; the server stays READY."""
    status = status_of(changing, protocol)
    version = status.model_status["broken"].version_status[1]
    assert version.ready_state == server_status_pb2.MODEL_UNAVAILABLE
    assert version.ready_state_reason.message.startswith("Internal: ")
    assert status.ready_state == server_status_pb2.SERVER_READY


def test_model_deleted_on_disk(changing: Any, protocol: int) -> None:
    """E.12: a model deleted on disk is still loaded, with configuration and all versions."""
    for name in (None, "multi_version"):
        model = status_of(changing, protocol, name).model_status["multi_version"]
        assert model.config.max_batch_size == 8
        assert {n: v.ready_state for n, v in model.version_status.items()} == dict.fromkeys(
            (1, 2, 3), READY
        )


def test_model_in_two_repositories(changing: Any, protocol: int) -> None:
    """E.12: a model in two repositories has no version; nothing breaks over it."""
    for name in (None, "slow"):
        model = status_of(changing, protocol, name).model_status["slow"]
        assert model.config.name == "slow"
        assert len(model.version_status) == 0


def test_loading_model(start_triton: Callable[..., Any], protocol: int) -> None:
    """§6.2 ready_state: a reloaded model is READY again, its counts from zero."""
    server = start_triton(["spare"])
    run(server, protocol, "spare", np.array([1], dtype=np.float32), 1)
    with ModelControlContext(server.url(protocol), protocol) as control:
        control.unload("spare")
        wait_until_unloaded(server, "spare")
        control.load("spare")
    version = status_of(server, protocol, "spare").model_status["spare"].version_status[1]
    assert version.ready_state == READY
    assert (version.model_inference_count, len(version.infer_stats)) == (0, 0)


def test_none_mode(start_triton: Callable[..., Any]) -> None:
    """§6.2 model_status: without model control every model of the repository is tracked."""
    server = start_triton(["spare", "simple"], model_control_mode="none")
    for protocol in (0, 1):
        assert sorted(status_of(server, protocol).model_status) == ["simple", "spare"]


def test_failed_server(protocol: int) -> None:
    """E.12: a server that failed to start: FAILED_TO_INITIALIZE, no models, its id, uptime > 0."""
    server = start_failed_server()
    try:
        status = status_of(server, protocol)
        with pytest.raises(InferenceServerException, match="no status available for unknown"):
            status_of(server, protocol, "simple")
    finally:
        server.stop()
    assert status.ready_state == server_status_pb2.SERVER_FAILED_TO_INITIALIZE
    assert (status.id, len(status.model_status)) == ("inference:0", 0)
    assert status.version
    assert status.uptime_ns > 0


# ------------------------------------------------------------------------------- counts


def test_inference_counts(start_triton: Callable[..., Any], protocol: int) -> None:
    """§6.2 infer_stats: by request batch size, with the times of queue and compute."""
    server = start_triton(["spare"])
    before = int(time.time() * 1000)
    for batch in (1, 4, 4):
        run(server, protocol, "spare", np.array([1], dtype=np.float32), batch)
    version = status_of(server, protocol, "spare").model_status["spare"].version_status[1]
    assert (version.model_execution_count, version.model_inference_count) == (3, 9)
    assert before <= version.last_inference_timestamp_milliseconds <= time.time() * 1000
    assert {size: row.success.count for size, row in version.infer_stats.items()} == {1: 1, 4: 2}
    four = version.infer_stats[4]
    assert four.success.total_time_ns >= four.compute.total_time_ns > 0
    parts = (four.compute_input, four.compute_infer, four.compute_output)
    assert four.compute.total_time_ns == sum(part.total_time_ns for part in parts)
    assert (four.compute.count, four.queue.count) == (2, 2)
    assert not four.HasField("failed")


def test_all_models_have_counts(start_triton: Callable[..., Any], protocol: int) -> None:
    """§6.2: the status of all models has the same counts as that of one."""
    server = start_triton(["spare", "simple"])
    run(server, protocol, "spare", np.array([1], dtype=np.float32), 2)
    models = status_of(server, protocol).model_status
    assert models["spare"].version_status[1].infer_stats[2].success.count == 1
    assert len(models["simple"].version_status[1].infer_stats) == 0


# ------------------------------------------------------------------------------ PyTriton


def test_functions_of_pytriton(protocol: int) -> None:
    """v2-mapping §13: a bound function is in no index, and has a full status all the same."""
    with PyTritonServer.start() as server:
        status = status_of(server, protocol, "simple")
        every = status_of(server, protocol)
    assert status.model_status["simple"].config.max_batch_size == 8
    assert status.model_status["simple"].version_status[1].ready_state == READY
    assert every.model_status["simple"].version_status[1].ready_state == READY


def test_restricted_server(start_triton: Callable[..., Any]) -> None:
    """A server that hides index and statistics still tells a model's configuration and state."""
    secret = "--http-restricted-api=model-repository,statistics:secret=yes"
    server = start_triton(["spare"], extra_args=[secret])
    model = status_of(server, 0, "spare").model_status["spare"]
    assert (model.config.max_batch_size, model.version_status[1].ready_state) == (8, READY)
    with pytest.raises(InferenceServerException, match="restricted"):
        status_of(server, 0)
    with pytest.raises(InferenceServerException, match="no status available for unknown model"):
        status_of(server, 0, "simple")
