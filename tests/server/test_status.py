"""ServerStatusContext (docs/v1-behaviour.md §6.2)."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from google.protobuf import text_format

from tensorrtserver.api import (
    InferenceServerException,
    ServerStatus,
    ServerStatusContext,
    model_config_pb2,
    server_status_pb2,
)
from testbed import repository
from tests.server.status_asked import status_of

READY = server_status_pb2.MODEL_READY


# ------------------------------------------------------------------------------ the server


@pytest.mark.smoke
def test_all_models(triton: Any, protocol: int) -> None:
    """model_name None: v1's message with every model that was loaded, and no other."""
    # docs/v1-behaviour.md §6.2
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
    """model_name None or '': all models (docs/v1-behaviour.md §6.2)."""
    assert len(status_of(triton, protocol, name).model_status) >= len(repository.LOADED_AT_START)


@pytest.mark.parametrize("name", ["simple", b"simple"])
def test_one_model(triton: Any, protocol: int, name: Any) -> None:
    """model_name: only that model, of the server as much as with all."""
    # docs/v1-behaviour.md §6.2
    status = status_of(triton, protocol, name)
    assert list(status.model_status) == ["simple"]
    assert status.ready_state == server_status_pb2.SERVER_READY
    assert (status.id, status.uptime_ns > 0) == ("triton", True)


@pytest.mark.parametrize("name", ["no_such_model", "spare"])
@pytest.mark.smoke
def test_unknown_model(start_triton: Callable[..., Any], name: str) -> None:
    """Unknown model: v1's server error; a model never loaded was not tracked either."""
    # docs/v1-behaviour.md §6.2
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
    """What v2 does not count is unset, not invented (docs/v1-behaviour.md §6.2)."""
    set_fields = {field.name for field, _ in status_of(triton, protocol).ListFields()}
    assert set_fields == {"id", "version", "uptime_ns", "model_status", "ready_state"}


def test_uptime_grows(triton: Any, protocol: int) -> None:
    """uptime_ns: positive, and grows from call to call and over contexts."""
    # docs/v1-behaviour.md §E.11
    uptimes = [status_of(triton, protocol, "simple").uptime_ns for _ in range(4)]
    assert uptimes[0] > 0
    assert sorted(set(uptimes)) == uptimes


def test_text(triton: Any, protocol: int) -> None:
    """Printing a status looks like text-format protobuf, and reads back."""
    # docs/v1-behaviour.md §6.2
    status = status_of(triton, protocol, "simple")
    assert str(status).startswith('id: "triton"\nversion: "')
    assert 'model_status {\n  key: "simple"\n' in str(status)
    assert text_format.Parse(str(status), ServerStatus()) == status


def test_missing_key_creates_an_entry(triton: Any, protocol: int) -> None:
    """Reading a missing model makes an empty entry of state UNKNOWN (docs/v1-behaviour.md §F.6)."""
    status = status_of(triton, protocol, "simple")
    version = status.model_status["other"].version_status[1]
    assert version.ready_state == server_status_pb2.MODEL_UNKNOWN
    assert "other" in status.model_status


def test_verbose(triton: Any, protocol: int, capfd: pytest.CaptureFixture[str]) -> None:
    """The status's text and a blank line on stdout (docs/v1-behaviour.md §10.2)."""
    with ServerStatusContext(triton.url(protocol), protocol, "simple", True) as context:
        status = context.get_server_status()
    printed = capfd.readouterr()
    assert printed.out == f"{status}\n"
    assert printed.out.endswith("\n\n")
    assert printed.err == ""


# ------------------------------------------------------------------------ configurations


def test_config_of_a_classifier(triton: Any, protocol: int) -> None:
    """What image clients read of a configuration (docs/v1-behaviour.md §8.3)."""
    config = status_of(triton, protocol, "image_classifier").model_status["image_classifier"].config
    (image,), (scores,) = config.input, config.output
    assert (image.name, list(image.dims)) == ("input", [3, 224, 224])
    assert image.format == model_config_pb2.ModelInput.FORMAT_NCHW
    assert (scores.name, scores.data_type) == ("probabilities", model_config_pb2.TYPE_FP32)
    assert (config.max_batch_size, scores.label_filename) == (8, "labels.txt")


def test_platform_is_never_empty(triton: Any, protocol: int) -> None:
    """Platform: the backend's name where v2 leaves it empty, ensembles keep theirs."""
    # docs/v1-behaviour.md §8.3
    models = status_of(triton, protocol).model_status
    assert models["simple"].config.platform == "python"
    assert models["ensemble_simple"].config.platform == "ensemble"
    assert models["ensemble_simple"].config.HasField("ensemble_scheduling")
    assert all(models[name].config.platform for name in repository.LOADED_AT_START)


def test_datatypes(triton: Any, protocol: int) -> None:
    """DataType: v1's numbers; BF16, which v1 lacks, keeps its number 14."""
    # docs/v1-behaviour.md §8.1
    models = status_of(triton, protocol).model_status
    numbers = [
        models[f"identity_{name}"].config.input[0].data_type for name in repository.DATATYPES
    ]
    assert numbers == list(range(1, 15))


def test_both_protocols_agree(triton: Any) -> None:
    """Every configuration is the same over HTTP and gRPC (docs/v1-behaviour.md §8.3)."""
    first, second = (status_of(triton, protocol).model_status for protocol in (0, 1))
    for name in repository.LOADED_AT_START:
        assert first[name].config == second[name].config, name


@pytest.mark.smoke
def test_schedulers(triton: Any, protocol: int) -> None:
    """Sequence and dynamic batchers with what v1 knew of them (docs/v1-behaviour.md §8.3)."""
    models = status_of(triton, protocol).model_status
    batching = models["sequence_sum"].config.sequence_batching
    kinds = [one.control[0].kind for one in batching.control_input]
    assert model_config_pb2.ModelSequenceBatching.Control.CONTROL_SEQUENCE_CORRID in kinds
    policy = models["queue_policy"].config.dynamic_batching.default_queue_policy
    assert (policy.allow_timeout_override, policy.timeout_action) == (True, 0)
    assert models["identity_reshape"].config.input[0].reshape.shape == [2, 2]
