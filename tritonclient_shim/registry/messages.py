"""Entries of v1's protobuf messages, of their modules and of the raw stub."""

from __future__ import annotations

from tritonclient_shim.registry.entry import IMPORT, RegistryEntry, both

_STUB = "Raw gRPC stub"
_MODULES = "tritonclient.grpc.service_pb2"


def _rpc(id: str, name: str, successor: str, http: str) -> RegistryEntry:
    symbol = f"tensorrtserver.api.grpc_service_pb2_grpc.GRPCServiceStub.{name}"
    grpc = f"GRPCInferenceServiceStub(channel).{successor}"
    return RegistryEntry(id, symbol, grpc, http, "", _STUB, counted=True)


def _module(id: str, name: str, successor: str, heading: str) -> RegistryEntry:
    symbol = f"tensorrtserver.api.{name}"
    http = "plain dicts and lists"
    return RegistryEntry(id, symbol, successor, http, "", heading, kind=IMPORT)


ENTRIES = (
    _module(
        "TS003", "model_config_pb2", "tritonclient.grpc.model_config_pb2", "Model configuration"
    ),
    _module("TS004", "server_status_pb2", _MODULES, "Server status"),
    _module("TS005", "api_pb2", _MODULES, "Sequences"),
    _module("TS006", "request_status_pb2", "grpc.StatusCode", "Errors"),
    _module("TS007", "grpc_service_pb2", _MODULES, _STUB),
    _module("TS008", "grpc_service_pb2_grpc", "tritonclient.grpc.service_pb2_grpc", _STUB),
    both(
        "TS066",
        "tensorrtserver.api.InferRequestHeader",
        "infer(..., sequence_start=..., sequence_end=...) for its flags",
        heading="Sequences",
    ),
    RegistryEntry(
        "TS067",
        "tensorrtserver.api.InferResponseHeader",
        "result.get_response()",
        "result.get_response(): a dict",
        "",
        "What the last request was",
    ),
    both(
        "TS068",
        "tensorrtserver.api.InferSharedMemory",
        "infer_input.set_shared_memory(region, byte_size, offset)",
        heading="System shared memory",
    ),
    both(
        "TS069",
        "tensorrtserver.api.ServerStatus",
        "what get_server_metadata(), get_model_config() and get_inference_statistics() return",
        heading="Server status",
    ),
    both(
        "TS070",
        "tensorrtserver.api.SharedMemoryStatus",
        "what get_system_shared_memory_status() returns",
        heading="System shared memory",
    ),
    both(
        "TS071",
        "tensorrtserver.api.ModelRepositoryIndex",
        "what get_model_repository_index() returns",
        heading="Repository index",
    ),
    RegistryEntry(
        "TS072",
        "tensorrtserver.api.grpc_service_pb2_grpc.GRPCServiceStub",
        "tritonclient.grpc.service_pb2_grpc.GRPCInferenceServiceStub(channel)",
        "tritonclient.http.InferenceServerClient(url)",
        "",
        _STUB,
        counted=True,
    ),
    _rpc("TS073", "Infer", "ModelInfer", "client.infer(model_name, inputs, outputs=outputs)"),
    _rpc("TS074", "StreamInfer", "ModelStreamInfer", "nothing: streams are gRPC's"),
    _rpc(
        "TS075",
        "Status",
        "ServerMetadata, RepositoryIndex, ModelConfig, ModelStatistics",
        "client.get_server_metadata(), get_model_repository_index(), get_model_config(model_name) "
        "and get_inference_statistics()",
    ),
    _rpc(
        "TS076",
        "Health",
        "ServerLive, ServerReady",
        "client.is_server_live(), client.is_server_ready()",
    ),
    _rpc(
        "TS077",
        "ModelControl",
        "RepositoryModelLoad, RepositoryModelUnload",
        "client.load_model(model_name), client.unload_model(model_name)",
    ),
    _rpc(
        "TS078",
        "SharedMemoryControl",
        "SystemSharedMemoryRegister, SystemSharedMemoryUnregister, SystemSharedMemoryStatus; "
        "the same names with Cuda for System",
        "client.register_system_shared_memory(name, key, byte_size) and its neighbours",
    ),
    _rpc("TS079", "Repository", "RepositoryIndex", "client.get_model_repository_index()"),
    both(
        "TS080",
        "tensorrtserver.api.grpc_service_pb2_grpc.GRPCServiceStub.Profile",
        "nothing: release 1.7 of the server removed the call",
        heading=_STUB,
        counted=True,
    ),
)
