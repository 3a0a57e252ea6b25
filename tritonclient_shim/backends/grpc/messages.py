"""tritonclient's control messages → the waist's dataclasses (KServe v2 extensions)."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from tritonclient_shim.backends.names import percent_decoded
from tritonclient_shim.core.errors import UnreadableFault
from tritonclient_shim.core.metadata import ModelMetadata, ServerMetadata, TensorMetadata
from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import read

T = TypeVar("T")


def server_metadata(response: Any) -> ServerMetadata:
    """``ServerMetadataResponse`` → name, version and extensions."""
    return ServerMetadata(response.name, response.version, tuple(response.extensions))


def model_metadata(response: Any) -> ModelMetadata:
    """``ModelMetadataResponse`` → platform and tensors."""
    inputs, outputs = map(_tensors, (response.inputs, response.outputs))
    return ModelMetadata(response.name, response.platform, inputs, outputs)


def _tensors(declared: Any) -> tuple[TensorMetadata, ...]:
    return tuple(TensorMetadata(one.name, one.datatype, tuple(one.shape)) for one in declared)


def config_document(response: Any) -> ModelConfigDocument:
    """``ModelConfigResponse`` → document with the wire bytes of ``inference.ModelConfig``."""
    config = response.config
    return ModelConfigDocument(
        content=bytes(config.SerializeToString()),
        backend=config.backend,
        decoupled=config.model_transaction_policy.decoupled,
    )


def index_rows(response: Any) -> tuple[IndexRow, ...]:
    """``RepositoryIndexResponse`` → rows; MLServer writes a state as ``State.READY``."""
    return tuple(
        IndexRow(row.name, row.version, row.state.rpartition(".")[2], row.reason)
        for row in response.models
    )


def model_statistics(response: Any) -> tuple[ModelStatistics, ...]:
    """``ModelStatisticsResponse`` → one record per model version; times in ns."""
    return tuple(_one_model(record) for record in response.model_stats)


def _one_model(record: Any) -> ModelStatistics:
    stats = record.inference_stats
    return ModelStatistics(
        name=record.name,
        version=record.version,
        last_inference_ms=record.last_inference,
        inference_count=record.inference_count,
        execution_count=record.execution_count,
        success=_duration(stats.success),
        fail=_duration(stats.fail),
        queue=_duration(stats.queue),
        compute_input=_duration(stats.compute_input),
        compute_infer=_duration(stats.compute_infer),
        compute_output=_duration(stats.compute_output),
        batches=tuple(_one_batch_size(batch) for batch in record.batch_stats),
    )


def _one_batch_size(batch: Any) -> BatchStatistics:
    return BatchStatistics(
        batch.batch_size,
        _duration(batch.compute_input),
        _duration(batch.compute_infer),
        _duration(batch.compute_output),
    )


def _duration(duration: Any) -> Duration:
    return Duration(duration.count, duration.ns)


def system_regions(response: Any) -> tuple[RegisteredRegion, ...]:
    """``SystemSharedMemoryStatusResponse`` → regions under their users' names."""
    return tuple(
        RegisteredRegion(percent_decoded(region.name), region.byte_size, region.key, region.offset)
        for region in response.regions.values()
    )


def cuda_regions(response: Any) -> tuple[RegisteredRegion, ...]:
    """``CudaSharedMemoryStatusResponse`` → regions under their users' names."""
    return tuple(
        RegisteredRegion(
            percent_decoded(region.name),
            region.byte_size,
            device_id=region.device_id,
            kind="cuda",
        )
        for region in response.regions.values()
    )


def converted(convert: Callable[[Any], T], answer: Any) -> T:
    """Return what a function makes of an answer; UnreadableFault when that makes no sense."""
    return read(convert, present(answer))


def present(answer: Any) -> Any:
    """Return a message; UnreadableFault if a call ended with status OK and without one."""
    if answer is None:
        raise UnreadableFault("it has no message", "one, as every answer has")
    return answer
