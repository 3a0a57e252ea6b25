"""How legacy programs use v1 messages: names, builders, copies, pickles."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
from typing import Any, Iterator

import pytest
from google.protobuf import descriptor_pb2, message, reflection

from tensorrtserver.api import (
    api_pb2,
    grpc_service_pb2,
    model_config_pb2,
    request_status_pb2,
    server_status_pb2,
)

PUBLIC = {
    "api_pb2": """InferRequestHeader InferResponseHeader InferSharedMemory model__config__pb2""",
    "model_config_pb2": """enum_type_wrapper DataType TYPE_INVALID TYPE_BOOL TYPE_UINT8 TYPE_UINT16
        TYPE_UINT32 TYPE_UINT64 TYPE_INT8 TYPE_INT16 TYPE_INT32 TYPE_INT64 TYPE_FP16 TYPE_FP32
        TYPE_FP64 TYPE_STRING ModelConfig ModelDynamicBatching ModelEnsembling ModelInput
        ModelInstanceGroup ModelOptimizationPolicy ModelOutput ModelParameter ModelQueuePolicy
        ModelSequenceBatching ModelTensorReshape ModelVersionPolicy ModelWarmup""",
    "server_status_pb2": """enum_type_wrapper model__config__pb2 ModelReadyState MODEL_UNKNOWN
        MODEL_READY MODEL_UNAVAILABLE MODEL_LOADING MODEL_UNLOADING ServerReadyState
        SERVER_INVALID SERVER_INITIALIZING SERVER_READY SERVER_EXITING
        SERVER_FAILED_TO_INITIALIZE ServerStatus ModelStatus ModelVersionStatus
        ModelReadyStateReason StatDuration InferRequestStats StatusRequestStats
        HealthRequestStats ModelControlRequestStats SharedMemoryControlRequestStats
        RepositoryRequestStats SharedMemoryRegion SharedMemoryStatus ModelRepositoryIndex""",
    "request_status_pb2": """enum_type_wrapper RequestStatus RequestStatusCode INVALID SUCCESS
        UNKNOWN INTERNAL NOT_FOUND INVALID_ARG UNAVAILABLE UNSUPPORTED ALREADY_EXISTS""",
    "grpc_service_pb2": """api__pb2 request__status__pb2 server__status__pb2
        StatusRequest StatusResponse HealthRequest HealthResponse ModelControlRequest
        ModelControlResponse SharedMemoryControlRequest SharedMemoryControlResponse InferRequest
        InferResponse RepositoryRequest RepositoryResponse""",
}


def facade(name: str) -> Any:
    """Return the facade's module of this name."""
    return importlib.import_module(f"tensorrtserver.api.{name}")


def message_classes() -> Iterator[Any]:
    """Return every v1 message class, nested classes included, map entries not."""
    pending: list[Any] = []
    for name in PUBLIC:
        module = facade(name)
        pending += [getattr(module, key) for key in module.DESCRIPTOR.message_types_by_name]
    while pending:
        result = pending.pop()
        yield result
        for nested in result.DESCRIPTOR.nested_types:
            if not nested.GetOptions().map_entry:
                pending.append(getattr(result, nested.name))


def sample_status() -> Any:
    """Return a ServerStatus with maps, enums, a oneof and nested messages."""
    status = server_status_pb2.ServerStatus(id="inference:0", ready_state=2, uptime_ns=2**63)
    model = status.model_status["simple"]
    model.config.input.add(name="INPUT0", data_type=model_config_pb2.TYPE_INT32, dims=[16])
    model.config.dynamic_batching.preferred_batch_size.append(4)
    model.version_status[3].ready_state = server_status_pb2.MODEL_READY
    model.version_status[3].infer_stats[8].success.count = 5
    return status


@pytest.mark.parametrize("name", sorted(PUBLIC))
@pytest.mark.smoke
def test_public_names(name: str) -> None:
    """The modules have exactly the public names of release 1.15, and their imports."""
    # docs/v1-behaviour.md §1.4
    names = filter(str.isidentifier, dir(facade(name)))  # pytest puts some others into modules
    public = {key for key in names if not key.startswith("_")}
    assert public == set(PUBLIC[name].split()) | {"DESCRIPTOR", "sys"}


def test_a_datatype_newer_than_v1() -> None:
    """v2's BF16 parses as the bare 14 and has no v1 name (docs/v1-behaviour.md §8.3)."""
    config = model_config_pb2.ModelInput.FromString(bytes([0x10, 14]))
    assert config.data_type == 14
    with pytest.raises(ValueError, match="DataType"):
        model_config_pb2.DataType.Name(14)


def test_internals_of_generated_modules() -> None:
    """Raw-stub programs can follow the imports and descriptors of generated code."""
    config: Any = model_config_pb2
    header: Any = api_pb2
    service: Any = grpc_service_pb2
    through = service.server__status__pb2.model__config__pb2
    assert through is model_config_pb2
    assert header.model__config__pb2 is model_config_pb2
    assert service.request__status__pb2 is request_status_pb2
    assert service.api__pb2 is api_pb2
    assert header._INFERREQUESTHEADER is api_pb2.InferRequestHeader.DESCRIPTOR
    assert header._INFERREQUESTHEADER_FLAG.values_by_name["FLAG_SEQUENCE_START"].number == 1
    entry = config._MODELCONFIG_CCMODELFILENAMESENTRY
    assert entry.containing_type is config._MODELCONFIG
    assert config._DATATYPE.values_by_number[11].name == "TYPE_FP32"
    assert len(service._GRPCSERVICE.methods) == 7
    deepest = "_MODELOPTIMIZATIONPOLICY_EXECUTIONACCELERATORS_ACCELERATOR_PARAMETERSENTRY"
    assert hasattr(model_config_pb2, deepest)


def test_retired_profile_messages() -> None:
    """A 1.0–1.6 script finds Profile's messages; the module does not list them."""
    # docs/v1-behaviour.md §8.2
    service: Any = grpc_service_pb2
    response = service.ProfileResponse()
    response.request_status.code = request_status_pb2.SUCCESS
    assert pickle.loads(pickle.dumps(response)) == response
    assert service.ProfileRequest().SerializeToString() == b""
    assert "ProfileRequest" not in dir(grpc_service_pb2)
    with pytest.raises(AttributeError, match="ProfileStats"):
        grpc_service_pb2.ProfileStats  # noqa: B018


def test_every_class_pickles_under_its_v1_module() -> None:
    """Each class, nested ones too, names its facade module, and pickle finds it there."""
    classes = list(message_classes())
    assert len(classes) == 74
    for result in classes:
        assert result.__module__.startswith("tensorrtserver.api.")
        assert pickle.loads(pickle.dumps(result)) is result
        assert type(pickle.loads(pickle.dumps(result()))) is result


@pytest.mark.parametrize("version", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_and_copy_keep_content(version: int) -> None:
    """A message survives every pickle version, copy and deepcopy, independently."""
    status = sample_status()
    copies = [pickle.loads(pickle.dumps(status, version)), copy.copy(status), copy.deepcopy(status)]
    for other in copies:
        assert type(other) is server_status_pb2.ServerStatus
        assert other == status
        other.model_status["simple"].config.input[0].dims[0] = 1
        assert other != status


def test_a_pickle_loads_in_a_fresh_process() -> None:
    """A worker process without our imports can read a pickled message."""
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).model_status['simple'].config)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(sample_status()),
        stdout=subprocess.PIPE,
        check=True,
    )
    expected = sample_status().model_status["simple"].config
    assert done.stdout.decode().strip() == str(expected).strip()


def test_messages_embed_in_a_users_own_proto() -> None:
    """A proto in the messages' own pool embeds them, and returns the same classes."""
    file = descriptor_pb2.FileDescriptorProto(name="job.proto", package="user", syntax="proto3")
    file.dependency.append(api_pb2.DESCRIPTOR.name)
    field = file.message_type.add(name="Job").field.add(name="header", number=1, label=1, type=11)
    field.type_name = ".nvidia.inferenceserver.InferRequestHeader"
    pool = api_pb2.DESCRIPTOR.pool
    pool.AddSerializedFile(file.SerializeToString())
    result = pool.FindMessageTypeByName("user.Job")
    members = {"DESCRIPTOR": result, "__module__": __name__}  # as generated code does
    job = reflection.GeneratedProtocolMessageType("Job", (message.Message,), members)()
    job.header.CopyFrom(api_pb2.InferRequestHeader(batch_size=3))
    assert type(job.header) is api_pb2.InferRequestHeader
    assert job.SerializeToString() == b"\x0a\x02\x08\x03"
