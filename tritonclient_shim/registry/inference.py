"""Entries of ``InferContext``, its methods and its result formats."""

from __future__ import annotations

from functools import partial

from tritonclient_shim.registry.contexts import context
from tritonclient_shim.registry.entry import SERIALISED, RegistryEntry, both

_CALLBACKS, _IDS = "Asynchronous requests with a callback", "Asynchronous requests with ids"
_LAST = "What the last request was"
_called = partial(both, counted=True)
_call = "infer(model_name, inputs, outputs=outputs)"
_FUTURE = "FuturesModelClient.infer_batch(...)"

ENTRIES = (
    context("TS050", "InferContext", "Inference", "pytriton.client.ModelClient(url, model_name)"),
    _called(
        "TS051",
        "tensorrtserver.api.InferContext.run",
        f"client.{_call}",
        "model.infer_batch(...) or model.infer_sample(...)",
        heading="Inference",
    ),
    RegistryEntry(
        "TS052",
        "tensorrtserver.api.InferContext.async_run",
        f"client.async_{_call[:-1]}, callback=callback)",
        f"client.async_{_call}, and get_result() of what it returns",
        f"{_FUTURE}.add_done_callback(...)",
        _CALLBACKS,
        counted=True,
    ),
    RegistryEntry(
        "TS053",
        "tensorrtserver.api.InferContext.async_run (inputs first, returns an id)",
        f"client.async_{_call[:-1]}, callback=callback)",
        f"client.async_{_call}: what it returns is the id's successor",
        _FUTURE,
        _IDS,
        since="1.8",
        counted=True,
    ),
    RegistryEntry(
        "TS054",
        "tensorrtserver.api.InferContext.async_run_with_cb",
        f"client.async_{_call[:-1]}, callback=callback)",
        f"client.async_{_call}, and get_result() of what it returns",
        f"{_FUTURE}.add_done_callback(...)",
        _CALLBACKS,
        since="1.8",
        counted=True,
    ),
    RegistryEntry(
        "TS055",
        "tensorrtserver.api.InferContext.get_async_run_results",
        "the callback's arguments result and error",
        "get_result() of what async_infer returned",
        "future.result()",
        _CALLBACKS,
        counted=True,
    ),
    RegistryEntry(
        "TS056",
        "tensorrtserver.api.InferContext.get_ready_async_request",
        "a queue.Queue that the callback fills",
        "get_result(block=False) of what async_infer returned",
        "concurrent.futures.as_completed(futures)",
        _IDS,
        since="1.8",
        counted=True,
    ),
    _called(
        "TS057",
        "tensorrtserver.api.InferContext.get_stat",
        "time.perf_counter() around your calls; client.get_inference_statistics(name) for the "
        "server's side",
        heading="Statistics",
    ),
    _called(
        "TS058",
        "tensorrtserver.api.InferContext.correlation_id",
        "the sequence_id that you give to infer()",
        heading="Sequences",
    ),
    _called(
        "TS059",
        "tensorrtserver.api.InferContext.get_last_request_id",
        "infer(..., request_id=...): an id of your own; result.get_response() has it",
        heading=_LAST,
    ),
    RegistryEntry(
        "TS060",
        "tensorrtserver.api.InferContext.get_last_request_model_name",
        "result.get_response().model_name",
        'result.get_response()["model_name"]',
        "model.model_config.model_name",
        _LAST,
        counted=True,
    ),
    RegistryEntry(
        "TS061",
        "tensorrtserver.api.InferContext.get_last_request_model_version",
        "result.get_response().model_version",
        'result.get_response()["model_version"]',
        "model.model_config.model_version",
        _LAST,
        counted=True,
    ),
    both(
        "TS062",
        "tensorrtserver.api.InferContext.ResultFormat.RAW",
        "InferRequestedOutput(name), and result.as_numpy(name)",
        "every output comes as an array",
        heading="Inference",
    ),
    both(
        "TS063",
        "tensorrtserver.api.InferContext.ResultFormat.CLASS",
        "InferRequestedOutput(name, class_count=k)",
        heading="Classification",
    ),
    _called(
        "TS065",
        "tensorrtserver.api.serialize_string_tensor",
        SERIALISED,
        heading="System shared memory",
    ),
)
