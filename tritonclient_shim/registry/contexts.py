"""Entries of the contexts that do no inference, of ``ProtocolType`` and of the exception."""

from __future__ import annotations

from functools import partial

from tritonclient_shim.registry.entry import RegistryEntry, both

_CLIENT_GRPC = "tritonclient.grpc.InferenceServerClient(url)"
_CLIENT_HTTP = "tritonclient.http.InferenceServerClient(url)"
_MODEL = "pytriton.client.ModelClient(url, model_name)"
_called = partial(both, counted=True)


def context(id: str, name: str, heading: str, pytriton: str = "") -> RegistryEntry:
    """The entry of a context class; the successor of each of them is the client."""
    symbol = f"tensorrtserver.api.{name}"
    return RegistryEntry(
        id, symbol, _CLIENT_GRPC, _CLIENT_HTTP, pytriton, heading, "1.15", counted=True
    )


ENTRIES = (
    RegistryEntry(
        "TS010",
        "tensorrtserver.api.ProtocolType",
        "import tritonclient.grpc",
        "import tritonclient.http",
        "the url's scheme: grpc:// or http://",
        "Connections",
    ),
    RegistryEntry(
        "TS011",
        "tensorrtserver.api.ProtocolType.from_str",
        "import tritonclient.grpc",
        "import tritonclient.http",
        "the url's scheme: grpc:// or http://",
        "Connections",
        counted=True,
    ),
    both(
        "TS015",
        "tensorrtserver.api.InferenceServerException",
        "tritonclient.utils.InferenceServerException",
        "pytriton.client.exceptions.PyTritonClientError",
        heading="Errors",
    ),
    RegistryEntry(
        "TS016",
        "tensorrtserver.api.InferenceServerException.server_id",
        "client.get_server_metadata().name: errors do not tell it",
        'client.get_server_metadata()["name"]: errors do not tell it',
        "",
        "Errors",
    ),
    both(
        "TS017",
        "tensorrtserver.api.InferenceServerException.request_id",
        "infer(..., request_id=...): an id of your own",
        heading="Errors",
    ),
    context("TS020", "ServerHealthContext", "Health", _MODEL),
    _called(
        "TS021",
        "tensorrtserver.api.ServerHealthContext.is_live",
        "client.is_server_live()",
        "model.wait_for_server(timeout_s)",
        heading="Health",
    ),
    _called(
        "TS022",
        "tensorrtserver.api.ServerHealthContext.is_ready",
        "client.is_server_ready()",
        "model.wait_for_model(timeout_s)",
        heading="Health",
    ),
    context("TS025", "ServerStatusContext", "Server status"),
    _called(
        "TS026",
        "tensorrtserver.api.ServerStatusContext.get_server_status",
        "client.get_server_metadata(), get_model_repository_index(), get_model_config(name) "
        "and get_inference_statistics()",
        "model.model_config for the configuration",
        heading="Server status",
    ),
    context("TS030", "ModelRepositoryContext", "Repository index"),
    _called(
        "TS031",
        "tensorrtserver.api.ModelRepositoryContext.get_model_repository_index",
        "client.get_model_repository_index()",
        heading="Repository index",
    ),
    context("TS035", "ModelControlContext", "Loading and unloading"),
    _called(
        "TS036",
        "tensorrtserver.api.ModelControlContext.load",
        "client.load_model(name)",
        "model.load_model()",
        heading="Loading and unloading",
    ),
    _called(
        "TS037",
        "tensorrtserver.api.ModelControlContext.unload",
        "client.unload_model(name)",
        "model.unload_model()",
        heading="Loading and unloading",
    ),
    context("TS040", "SharedMemoryControlContext", "System shared memory"),
    _called(
        "TS041",
        "tensorrtserver.api.SharedMemoryControlContext.register",
        "client.register_system_shared_memory(name, key, byte_size)",
        heading="System shared memory",
    ),
    _called(
        "TS042",
        "tensorrtserver.api.SharedMemoryControlContext.cuda_register",
        "client.register_cuda_shared_memory(name, raw_handle, device_id, byte_size)",
        heading="CUDA shared memory",
    ),
    _called(
        "TS043",
        "tensorrtserver.api.SharedMemoryControlContext.unregister",
        "client.unregister_system_shared_memory(name), unregister_cuda_shared_memory(name)",
        heading="System shared memory",
    ),
    _called(
        "TS044",
        "tensorrtserver.api.SharedMemoryControlContext.unregister_all",
        "client.unregister_system_shared_memory() and unregister_cuda_shared_memory()",
        heading="System shared memory",
    ),
    _called(
        "TS045",
        "tensorrtserver.api.SharedMemoryControlContext.get_shared_memory_status",
        "client.get_system_shared_memory_status(), get_cuda_shared_memory_status()",
        heading="System shared memory",
    ),
    both(
        "TS046",
        "tensorrtserver.api.ServerStatusContext.get_last_request_id",
        "client calls take request ids for inference alone; your log can number the others",
        heading="What the last request was",
        counted=True,
    ),
)
