"""A model's metadata → a configuration and a profile, where the server has no configurations.

Metadata name tensors with their data types and shapes. A first dimension of -1 is the batch;
how large it may be is not told, so it is without a limit. Settings add what the metadata lack,
and replace what they say otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.metadata import Capabilities, ModelMetadata, TensorMetadata
from tritonclient_shim.core.model import ModelConfigDocument, ModelProfile
from tritonclient_shim.settings.models import UNLIMITED, DeclaredModel, DeclaredTensor
from tritonclient_shim.translate import config

#: Dims of a tensor of which nobody tells any: one dimension of any size.
_UNKNOWN_DIMS = (-1,)


def profile_of(
    name: str, metadata: ModelMetadata, server: Capabilities, declared: DeclaredModel | None
) -> ModelProfile:
    """What a context keeps of a model that the server describes by its metadata."""
    declared = declared or DeclaredModel(name)
    made = config.to_profile(name, document_of(metadata, declared))
    scalars = {one.name for one in metadata.inputs if made.batching and one.shape == (-1,)}
    return replace(
        made,
        inputs={
            key: replace(spec, scalar=key in scalars and spec.dims == (1,))
            for key, spec in made.inputs.items()
        },
        server=server,
        open_inputs=not made.inputs,
        open_outputs=not made.outputs,
        labels=declared.labels(),
    )


def document_of(metadata: ModelMetadata, declared: DeclaredModel) -> ModelConfigDocument:
    """The configuration that Triton would have for such a model, as far as it is known."""
    largest = _max_batch_size(metadata, declared)
    sides = [
        _tensors(given, told, largest > 0)
        for given, told in (
            (metadata.inputs, declared.inputs),
            (metadata.outputs, declared.outputs),
        )
    ]
    content = {
        "name": metadata.name,
        "platform": metadata.platform,
        "max_batch_size": largest,
        "input": sides[0],
        "output": sides[1],
    }
    return ModelConfigDocument(content)


def _max_batch_size(metadata: ModelMetadata, declared: DeclaredModel) -> int:
    if declared.max_batch_size is not None:
        return declared.max_batch_size
    tensors = metadata.inputs or metadata.outputs
    return UNLIMITED if all(one.shape[:1] == (-1,) for one in tensors) else 0


def _tensors(
    given: Sequence[TensorMetadata], told: Sequence[DeclaredTensor], batching: bool
) -> list[dict[str, Any]]:
    """The tensors of one side: those of the metadata, and those that only the settings name."""
    by_name = {one.name: one for one in told}
    listed = {
        one.name: _tensor(one, by_name.get(one.name, DeclaredTensor(one.name)), batching)
        for one in given
    }
    for name, one in by_name.items():
        listed.setdefault(name, _tensor(None, one, batching))
    return list(listed.values())


def _tensor(given: TensorMetadata | None, told: DeclaredTensor, batching: bool) -> dict[str, Any]:
    dims = told.dims
    if dims is None:
        dims = _UNKNOWN_DIMS if given is None else given.shape[1:] if batching else given.shape
    dims = dims or (1,)  # v1 had no tensors without dimensions
    found = {"name": told.name, "dims": list(dims)}
    datatype = told.datatype or (given.datatype if given else "")
    if datatype in dtypes.BY_V2:
        found["data_type"] = dtypes.v1_name(datatype)
    if told.label_filename:
        found["label_filename"] = told.label_filename
    return found
