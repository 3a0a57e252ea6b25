"""The classes, methods, functions, messages and modules of v1, with their successors."""

from __future__ import annotations

from functools import partial

from tritonclient_shim.registry.entry import IMPORT, RegistryEntry, entry, of_api

_named = of_api
_called = partial(of_api, counted=True)
_import = partial(of_api, kind=IMPORT)
#: What v1's ``serialize_string_tensor`` becomes. Its result had its size as ``nbytes``; the
#: successor's is an array of one object, whose ``nbytes`` is the size of a pointer.
_SERIALISED = (
    "tritonclient.utils.serialize_byte_tensor(array), whose size is "
    "tritonclient.utils.serialized_byte_size(...) of it"
)


def _memory(
    first: int, name: str, error: str, create: str, heading: str
) -> tuple[RegistryEntry, ...]:
    """Return the entries of a module for shared memory."""
    legacy = f"tensorrtserver.{name}."
    modern = f"tritonclient.utils.{name}."
    ids = [f"TS{first + number:03d}" for number in range(5)]
    set_region = "set_shared_memory_region"
    destroy = "destroy_shared_memory_region"
    called = partial(entry, counted=True)
    return (
        called(ids[0], legacy + create.partition("(")[0], heading, modern + create),
        called(ids[1], legacy + set_region, heading, f"{modern}{set_region}(handle, arrays)"),
        called(ids[2], legacy + destroy, heading, f"{modern}{destroy}(handle)"),
        called(ids[3], f"{legacy}serialize_string_tensor", heading, _SERIALISED, since="1.11"),
        entry(ids[4], legacy + error, heading, modern + error),
    )


# fmt: off
ENTRIES = (
    _import("TS003", "model_config_pb2", "Model configuration",
            "tritonclient.grpc.model_config_pb2", "plain dicts and lists"),
    _import("TS004", "server_status_pb2", "Server status", "tritonclient.grpc.service_pb2",
            "plain dicts and lists"),
    _import("TS005", "api_pb2", "Sequences", "tritonclient.grpc.service_pb2",
            "plain dicts and lists"),
    _import("TS006", "request_status_pb2", "Errors", "grpc.StatusCode", "plain dicts and lists"),
    _import("TS007", "grpc_service_pb2", "Raw gRPC stub", "tritonclient.grpc.service_pb2",
            "plain dicts and lists"),
    _import("TS008", "grpc_service_pb2_grpc", "Raw gRPC stub",
            "tritonclient.grpc.service_pb2_grpc", "plain dicts and lists"),
    _named("TS010", "ProtocolType", "Connections", "import tritonclient.grpc",
           "import tritonclient.http", "the url's scheme: grpc:// or http://"),
    _called("TS011", "ProtocolType.from_str", "Connections", "import tritonclient.grpc",
            "import tritonclient.http", "the url's scheme: grpc:// or http://"),
    _named("TS015", "InferenceServerException", "Errors",
           "tritonclient.utils.InferenceServerException",
           pytriton="pytriton.client.exceptions.PyTritonClientError"),
    _named("TS016", "InferenceServerException.server_id", "Errors",
           "client.get_server_metadata().name: errors do not tell it",
           'client.get_server_metadata()["name"]: errors do not tell it'),
    _named("TS017", "InferenceServerException.request_id", "Errors",
           "infer(..., request_id=...): an id of your own"),
    _called("TS020", "ServerHealthContext", "Health",
            "tritonclient.grpc.InferenceServerClient(url)",
            "tritonclient.http.InferenceServerClient(url)",
            "pytriton.client.ModelClient(url, model_name)"),
    _called("TS021", "ServerHealthContext.is_live", "Health", "client.is_server_live()",
            pytriton="model.wait_for_server(timeout_s)"),
    _called("TS022", "ServerHealthContext.is_ready", "Health", "client.is_server_ready()",
            pytriton="model.wait_for_model(timeout_s)"),
    _called("TS025", "ServerStatusContext", "Server status",
            "tritonclient.grpc.InferenceServerClient(url)",
            "tritonclient.http.InferenceServerClient(url)"),
    _called("TS026", "ServerStatusContext.get_server_status", "Server status",
            "client.get_server_metadata(), get_model_repository_index(), get_model_config(name) "
            "and get_inference_statistics()",
            pytriton="model.model_config for the configuration"),
    _called("TS030", "ModelRepositoryContext", "Repository index",
            "tritonclient.grpc.InferenceServerClient(url)",
            "tritonclient.http.InferenceServerClient(url)"),
    _called("TS031", "ModelRepositoryContext.get_model_repository_index", "Repository index",
            "client.get_model_repository_index()"),
    _called("TS035", "ModelControlContext", "Loading and unloading",
            "tritonclient.grpc.InferenceServerClient(url)",
            "tritonclient.http.InferenceServerClient(url)"),
    _called("TS036", "ModelControlContext.load", "Loading and unloading",
            "client.load_model(name)", pytriton="model.load_model()"),
    _called("TS037", "ModelControlContext.unload", "Loading and unloading",
            "client.unload_model(name)", pytriton="model.unload_model()"),
    _called("TS040", "SharedMemoryControlContext", "System shared memory",
            "tritonclient.grpc.InferenceServerClient(url)",
            "tritonclient.http.InferenceServerClient(url)"),
    _called("TS041", "SharedMemoryControlContext.register", "System shared memory",
            "client.register_system_shared_memory(name, key, byte_size)"),
    _called("TS042", "SharedMemoryControlContext.cuda_register", "CUDA shared memory",
            "client.register_cuda_shared_memory(name, raw_handle, device_id, byte_size)"),
    _called("TS043", "SharedMemoryControlContext.unregister", "System shared memory",
            "client.unregister_system_shared_memory(name), unregister_cuda_shared_memory(name)"),
    _called("TS044", "SharedMemoryControlContext.unregister_all", "System shared memory",
            "client.unregister_system_shared_memory() and unregister_cuda_shared_memory()"),
    _called("TS045", "SharedMemoryControlContext.get_shared_memory_status", "System shared memory",
            "client.get_system_shared_memory_status(), get_cuda_shared_memory_status()"),
    _called("TS046", "ServerStatusContext.get_last_request_id", "What the last request was",
            "client calls take request ids for inference alone; your log can number the others"),
    _called("TS050", "InferContext", "Inference", "tritonclient.grpc.InferenceServerClient(url)",
            "tritonclient.http.InferenceServerClient(url)",
            "pytriton.client.ModelClient(url, model_name)"),
    _called("TS051", "InferContext.run", "Inference",
            "client.infer(model_name, inputs, outputs=outputs)",
            pytriton="model.infer_batch(...) or model.infer_sample(...)"),
    _called("TS052", "InferContext.async_run", "Asynchronous requests with a callback",
            "client.async_infer(model_name, inputs, outputs=outputs, callback=callback)",
            "client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what "
            "it returns",
            "FuturesModelClient.infer_batch(...).add_done_callback(...)"),
    _called("TS053", "InferContext.async_run (inputs first, returns an id)",
            "Asynchronous requests with ids",
            "client.async_infer(model_name, inputs, outputs=outputs, callback=callback)",
            "client.async_infer(model_name, inputs, outputs=outputs): what it returns is the "
            "id's successor",
            "FuturesModelClient.infer_batch(...)", since="1.8"),
    _called("TS054", "InferContext.async_run_with_cb", "Asynchronous requests with a callback",
            "client.async_infer(model_name, inputs, outputs=outputs, callback=callback)",
            "client.async_infer(model_name, inputs, outputs=outputs), and get_result() of what "
            "it returns",
            "FuturesModelClient.infer_batch(...).add_done_callback(...)", since="1.8"),
    _called("TS055", "InferContext.get_async_run_results", "Asynchronous requests with a callback",
            "the callback's arguments result and error",
            "get_result() of what async_infer returned", "future.result()"),
    _called("TS056", "InferContext.get_ready_async_request", "Asynchronous requests with ids",
            "a queue.Queue that the callback fills",
            "get_result(block=False) of what async_infer returned",
            "concurrent.futures.as_completed(futures)", since="1.8"),
    _called("TS057", "InferContext.get_stat", "Statistics",
            "time.perf_counter() around your calls; client.get_inference_statistics(name) for "
            "the server's side"),
    _called("TS058", "InferContext.correlation_id", "Sequences",
            "the sequence_id that you give to infer()"),
    _called("TS059", "InferContext.get_last_request_id", "What the last request was",
            "infer(..., request_id=...): an id of your own; result.get_response() has it"),
    _called("TS060", "InferContext.get_last_request_model_name", "What the last request was",
            "result.get_response().model_name", 'result.get_response()["model_name"]',
            "model.model_config.model_name"),
    _called("TS061", "InferContext.get_last_request_model_version", "What the last request was",
            "result.get_response().model_version", 'result.get_response()["model_version"]',
            "model.model_config.model_version"),
    _named("TS062", "InferContext.ResultFormat.RAW", "Inference",
           "InferRequestedOutput(name), and result.as_numpy(name)",
           pytriton="every output comes as an array"),
    _named("TS063", "InferContext.ResultFormat.CLASS", "Classification",
           "InferRequestedOutput(name, class_count=k)"),
    _called("TS065", "serialize_string_tensor", "System shared memory",
            _SERIALISED),
    _named("TS066", "InferRequestHeader", "Sequences",
           "infer(..., sequence_start=..., sequence_end=...) for its flags"),
    _named("TS067", "InferResponseHeader", "What the last request was", "result.get_response()",
           "result.get_response(): a dict"),
    _named("TS068", "InferSharedMemory", "System shared memory",
           "infer_input.set_shared_memory(region, byte_size, offset)"),
    _named("TS069", "ServerStatus", "Server status",
           "what get_server_metadata(), get_model_config() and get_inference_statistics() return"),
    _named("TS070", "SharedMemoryStatus", "System shared memory",
           "what get_system_shared_memory_status() returns"),
    _named("TS071", "ModelRepositoryIndex", "Repository index",
           "what get_model_repository_index() returns"),
    _called("TS072", "grpc_service_pb2_grpc.GRPCServiceStub", "Raw gRPC stub",
            "tritonclient.grpc.service_pb2_grpc.GRPCInferenceServiceStub(channel)",
            "tritonclient.http.InferenceServerClient(url)"),
    _called("TS073", "grpc_service_pb2_grpc.GRPCServiceStub.Infer", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).ModelInfer",
            "client.infer(model_name, inputs, outputs=outputs)"),
    _called("TS074", "grpc_service_pb2_grpc.GRPCServiceStub.StreamInfer", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).ModelStreamInfer", "nothing: streams are gRPC's"),
    _called("TS075", "grpc_service_pb2_grpc.GRPCServiceStub.Status", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).ServerMetadata, RepositoryIndex, ModelConfig, "
            "ModelStatistics",
            "client.get_server_metadata(), get_model_repository_index(), "
            "get_model_config(model_name) and get_inference_statistics()"),
    _called("TS076", "grpc_service_pb2_grpc.GRPCServiceStub.Health", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).ServerLive, ServerReady",
            "client.is_server_live(), client.is_server_ready()"),
    _called("TS077", "grpc_service_pb2_grpc.GRPCServiceStub.ModelControl", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).RepositoryModelLoad, RepositoryModelUnload",
            "client.load_model(model_name), client.unload_model(model_name)"),
    _called("TS078", "grpc_service_pb2_grpc.GRPCServiceStub.SharedMemoryControl", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).SystemSharedMemoryRegister, "
            "SystemSharedMemoryUnregister, SystemSharedMemoryStatus; the same names with Cuda "
            "for System",
            "client.register_system_shared_memory(name, key, byte_size) and its neighbours"),
    _called("TS079", "grpc_service_pb2_grpc.GRPCServiceStub.Repository", "Raw gRPC stub",
            "GRPCInferenceServiceStub(channel).RepositoryIndex",
            "client.get_model_repository_index()"),
    _called("TS080", "grpc_service_pb2_grpc.GRPCServiceStub.Profile", "Raw gRPC stub",
            "nothing: release 1.7 of the server removed the call"),
    *_memory(81, "shared_memory", "SharedMemoryException",
             "create_shared_memory_region(name, key, byte_size)", "System shared memory"),
    *_memory(86, "cuda_shared_memory", "CudaSharedMemoryException",
             "create_shared_memory_region(name, byte_size, device_id)", "CUDA shared memory"),
)
# fmt: on
