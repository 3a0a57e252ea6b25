"""Models of servers without model configurations: of KServe v2 without Triton's extensions.

A model's metadata name tensors with data types and shapes. A first dimension of -1 is the batch.
Metadata do not limit the batch. Settings add what metadata lack, and replace what they say
otherwise. Of tensors that a model does not declare, the caller's arrays have the types.

Such a server ignores what it does not know. It answers a request of a sequence as if the request
stood alone, and a request for a version by the only version. So requests are refused here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

import numpy as np

from tritonclient_shim.core import arguments, dtypes
from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import InferenceServerException, InvalidRequest
from tritonclient_shim.core.model import (
    Capabilities,
    ModelConfigDocument,
    ModelMetadata,
    ModelProfile,
    TensorMetadata,
    TensorSpec,
    V1Request,
)
from tritonclient_shim.servers.metadata import SEQUENCE
from tritonclient_shim.settings.models import UNLIMITED, DeclaredModel, DeclaredTensor
from tritonclient_shim.translate import config
from tritonclient_shim.translate.request import check_input_type

#: Dims of a tensor if neither metadata nor settings have any: one dimension of any size.
_UNKNOWN_DIMS = (-1,)

_BY_NUMPY = {row.numpy: row.v2 for row in dtypes.TABLE if row.numpy is not None}

# --------------------------------------------------------------------------------- metadata


def profile_of(
    name: str, metadata: ModelMetadata, server: Capabilities, declared: DeclaredModel
) -> ModelProfile:
    """Return the profile of a model that the server describes by its metadata."""
    profile = config.to_profile(name, document_of(metadata, declared))
    scalars = {each.name for each in metadata.inputs if profile.batching and each.shape == (-1,)}
    inputs = {
        key: replace(spec, scalar=key in scalars and spec.dims == (1,))
        for key, spec in profile.inputs.items()
    }
    return replace(
        profile,
        inputs=inputs,
        server=server,
        open_inputs=not profile.inputs,
        open_outputs=not profile.outputs,
        labels=declared.labels(),
    )


def document_of(metadata: ModelMetadata, declared: DeclaredModel) -> ModelConfigDocument:
    """Return the configuration that Triton would have for such a model, as far as it is known."""
    largest = declared.max_batch_size
    if largest is None:
        tensors = metadata.inputs or metadata.outputs
        largest = UNLIMITED if all(tensor.shape[:1] == (-1,) for tensor in tensors) else 0
    content = {
        "name": metadata.name,
        "platform": metadata.platform,
        "max_batch_size": largest,
        "input": _tensors(metadata.inputs, declared.inputs, largest > 0),
        "output": _tensors(metadata.outputs, declared.outputs, largest > 0),
    }
    return ModelConfigDocument(content)


def _tensors(
    described: Sequence[TensorMetadata], declared: Sequence[DeclaredTensor], batching: bool
) -> list[dict[str, Any]]:
    """Return the tensors of one side: of the metadata, then those that only the settings name."""
    by_metadata = {tensor.name: tensor for tensor in described}
    by_settings = {tensor.name: tensor for tensor in declared}
    return [
        _tensor(by_metadata.get(name), by_settings.get(name, DeclaredTensor(name)), batching)
        for name in {**by_metadata, **by_settings}
    ]


def _tensor(
    described: TensorMetadata | None, declared: DeclaredTensor, batching: bool
) -> dict[str, Any]:
    dims = declared.dims
    if dims is None:
        dims = described.shape[1 if batching else 0 :] if described else _UNKNOWN_DIMS
    # v1 had no tensors without dimensions
    tensor: dict[str, Any] = {"name": declared.name, "dims": list(dims or (1,))}
    datatype = declared.datatype or (described.datatype if described else "")
    if datatype in dtypes.BY_V2:
        tensor["data_type"] = dtypes.v1_name(datatype)
    if declared.label_filename:
        tensor["label_filename"] = declared.label_filename
    return tensor


# ---------------------------------------------------------------------------------- arrays


def completed(profile: ModelProfile, run: RunArguments) -> ModelProfile:
    """Return the profile with the inputs and outputs that a request names, typed as its arrays.

    Return the profile itself if the model declares all. Raise InferenceServerException for arrays
    that no tensor can be made of.
    """
    untyped = [spec for spec in profile.inputs.values() if not spec.datatype]
    declares_all = not (profile.open_inputs or profile.open_outputs or untyped)
    if profile.server.configurations or declares_all:
        return profile
    for key, value in run.inputs.items():
        check_input_type(key, value)
    inputs, outputs = dict(profile.inputs), dict(profile.outputs)
    for key, value in run.inputs.items():
        name = arguments.text(key, "an input name", 3)
        spec = inputs.get(name)
        if profile.open_inputs if spec is None else not spec.datatype:
            inputs[name] = _input(name, value, profile)
    for key in run.outputs if profile.open_outputs else ():
        name = arguments.text(key, "an output name", 3)
        outputs.setdefault(name, TensorSpec(name, "", ()))
    return replace(profile, inputs=inputs, outputs=outputs)


def with_types(profile: ModelProfile, request: V1Request) -> V1Request:
    """Return a request whose inputs have the data types of the profile."""
    specs = profile.inputs
    inputs = [item._replace(datatype=specs[item.name].datatype) for item in request.inputs]
    return request._replace(inputs=tuple(inputs))


def _input(name: str, value: Any, profile: ModelProfile) -> TensorSpec:
    values = value if isinstance(value, (list, tuple)) else []
    arrays = [array for array in values if isinstance(array, np.ndarray)]
    if not arrays:
        raise InferenceServerException(
            f"model '{profile.name}' does not declare the data type of its input '{name}', and no "
            "array tells it; expected a list of numpy arrays: pass one per batch entry, or name "
            "the type in the setting models"
        )
    kinds = {array.dtype for array in arrays}
    datatype = _datatype(arrays[0].dtype)
    if len(kinds) > 1 and {_datatype(kind) for kind in kinds} != {"BYTES"} or not datatype:
        types = ", ".join(sorted(map(str, kinds)))
        raise InferenceServerException(
            f"input '{name}' of model '{profile.name}' is not declared by the model, and its "
            f"arrays are of type {types}; expected one of the types of KServe v2 for all of them: "
            "convert the arrays with astype, or name the type in the setting models"
        )
    return TensorSpec(name, datatype, tuple(arrays[0].shape))


def _datatype(kind: np.dtype[Any]) -> str:
    return dtypes.STRING.v2 if kind.kind in "OSU" else _BY_NUMPY.get(kind, "")


# ---------------------------------------------------------------------------- capabilities


def check_request(profile: ModelProfile, request: V1Request) -> None:
    """Raise InvalidRequest for a request that needs what the model's server does not have."""
    server = profile.server
    check_context(profile, request.model_version, request.correlation_id)
    if request.flags and not server.sequences:
        raise _missing(server, f"flags={request.flags}", SEQUENCE, "pass flags=0")
    regions = [item.shm for item in request.inputs if item.shm]
    regions += [item.shm for item in request.outputs if item.shm]
    if regions and not server.regions:
        raise _missing(server, "shared memory", "system_shared_memory", "pass arrays")


def check_context(
    profile: ModelProfile, version: int, correlation_id: int, streaming: bool = False
) -> None:
    """Raise InvalidRequest for a context, or request, that the server would misunderstand."""
    server = profile.server
    if streaming and not server.streams:
        raise InvalidRequest(
            f"streaming=True needs a server with ModelStreamInfer, which the server "
            f"'{server.server}' does not have in the form of KServe v2; expected a Triton server: "
            "leave streaming out, or use one",
            "UNIMPLEMENTED",
        )
    if correlation_id and not server.sequences:
        asked = f"correlation_id={correlation_id}"
        raise _missing(server, asked, SEQUENCE, "leave the correlation id out")
    if version != -1 and not server.versions:
        raise InvalidRequest(
            f"model '{profile.name}' is asked for in version {version}, but the server "
            f"'{server.server}' has no model versions and would answer with the only one; "
            "expected -1, the latest: leave the version out",
            "UNIMPLEMENTED",
        )


def _missing(server: Capabilities, asked: str, extension: str, remedy: str) -> InvalidRequest:
    return InvalidRequest(
        f"{asked} needs the extension {extension}, and the server '{server.server}' does not have "
        f"it and would ignore the wish; expected a server that has it: {remedy}, or use a Triton "
        "server for it",
        "UNIMPLEMENTED",
    )
