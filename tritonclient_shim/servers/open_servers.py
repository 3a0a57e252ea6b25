"""The dialect of servers without model configurations: KServe v2 without Triton's extensions.

A model's metadata name tensors with data types and shapes. A first dimension of -1 is the batch.
Metadata do not limit the batch. Settings add what metadata lack, and replace what they say
otherwise. Of tensors that a model does not declare, the caller's arrays have the types.

Such a server ignores what it does not know. It answers a request of a sequence as if the request
stood alone, and a request for a version by the only version. So requests are refused here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.arguments import RunArguments, text
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    InvalidRequest,
    ServerError,
)
from tritonclient_shim.core.model import (
    InferReply,
    ModelConfigDocument,
    ModelMetadata,
    ServerMetadata,
    TensorMetadata,
    V1Request,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.servers.base import (
    MODEL_CONFIGURATION,
    Dialect,
    ModelProfile,
    ModelSource,
    TensorSpec,
    shape_text,
)
from tritonclient_shim.servers.configuration import to_profile
from tritonclient_shim.settings.models import UNLIMITED, DeclaredModel, DeclaredTensor

BINARY = "binary_tensor_data"
SEQUENCE = "sequence"
REGIONS = frozenset({"system_shared_memory", "cuda_shared_memory"})

#: Dims of a tensor if neither metadata nor settings have any: one dimension of any size.
_UNKNOWN_DIMS = (-1,)
#: Show at most this many validation errors of a request.
_MOST_DETAILS = 3
#: Show at most this many bytes of an error in an unknown format.
_MOST_BYTES = 300

_BY_NUMPY = {row.numpy: row.v2 for row in dtypes.TABLE if row.numpy is not None}


class _Kind(NamedTuple):
    """What a server does not say of itself (docs/v2-mapping.md §14)."""

    unlisted: frozenset[str] = frozenset()  # extensions that it has
    has_versions: bool = True  # False: each model has one, and the version of a request is ignored
    loads_by_repository: bool = False


#: By the server's name.
_KINDS = {
    "kserve": _Kind(frozenset({BINARY}), has_versions=False, loads_by_repository=True),
}
_OTHER = _Kind()


def dialect_of(server: ServerMetadata) -> Dialect | None:
    """Return the dialect of a server without model configurations."""
    listed = frozenset(extension.partition("(")[0] for extension in server.extensions)
    if MODEL_CONFIGURATION in server.extensions:
        return None
    kind = _KINDS.get(server.name, _OTHER)
    extensions = listed | kind.unlisted
    return OpenServer(
        server=server.title,
        keeps_sequences=SEQUENCE in extensions,
        has_regions=bool(REGIONS & extensions),
        has_versions=kind.has_versions,
        takes_binary=BINARY in extensions,
        loads_by_repository=kind.loads_by_repository,
    )


@dataclass(frozen=True)
class OpenProfile(ModelProfile):
    """What is known of a model without configuration.

    One that declares no inputs takes any, of the types of their arrays. The same goes for outputs.
    """

    #: Inputs of one number per batch entry: dims (1,) in v1, no dimension in v2.
    scalars: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OpenServer(Dialect):
    """A server without model configurations. It ignores, or misunderstands, what it cannot do."""

    server: str  # name and version, for messages
    keeps_sequences: bool = False
    has_regions: bool = False  # shared memory of any kind
    has_versions: bool = True
    takes_binary: bool = False
    loads_by_repository: bool = False

    description_holds = False
    replies_as_described = False
    numbers_versions = False
    has_labels = False

    # --------------------------------------------------------------------------- models

    def describe(self, source: ModelSource, name: str, declared: DeclaredModel) -> ModelProfile:
        """Ask for the metadata of a model, and return its profile. Raise BackendError."""
        try:
            metadata = source.model_metadata(name)
        except ForeignError as unknown:
            if not unknown.no_such_call:
                raise
            # the HTTP framework refuses a path that no model's name makes, as with a slash in it
            raise ServerError(f"model '{name}' is not found", "NOT_FOUND") from unknown
        return read(self.profile_of, name, metadata, declared)

    def profile_of(
        self, name: str, metadata: ModelMetadata, declared: DeclaredModel
    ) -> ModelProfile:
        """Return the profile of a model from its metadata."""
        profile = to_profile(name, _document_of(metadata, declared))
        vectors = {tensor.name for tensor in metadata.inputs if tensor.shape == (-1,)}
        specs = profile.inputs.values()
        scalars = {spec.name for spec in specs if spec.name in vectors and spec.dims == (1,)}
        return OpenProfile(
            name=profile.name,
            max_batch_size=profile.max_batch_size,
            inputs=profile.inputs,
            outputs=profile.outputs,
            dialect=self,
            labels=declared.labels(),
            scalars=frozenset(scalars if profile.batching else ()),
        )

    def documents(
        self, source: ModelSource, models: Iterable[DeclaredModel]
    ) -> dict[str, ModelConfigDocument]:
        """Return the configurations that Triton would have for models, as far as is known."""
        documents = {}
        for declared in models:
            try:
                metadata = source.model_metadata(declared.name)
            except BackendError as error:
                if isinstance(error, ServerError) or error.no_such_call:
                    continue
                raise
            documents[declared.name] = read(_document_of, metadata, declared)
        return documents

    # -------------------------------------------------------------------------- requests

    def check_context(
        self, profile: ModelProfile, version: int, correlation_id: int, streaming: bool = False
    ) -> None:
        """Raise InvalidRequest for a context, or request, that the server would misunderstand."""
        if streaming:
            raise InvalidRequest(
                f"streaming=True needs a server with ModelStreamInfer, which the server "
                f"'{self.server}' does not have in the form of KServe v2; expected a Triton "
                "server: leave streaming out, or use one",
                "UNIMPLEMENTED",
            )
        if correlation_id and not self.keeps_sequences:
            argument = f"correlation_id={correlation_id}"
            raise self._missing(argument, SEQUENCE, "leave the correlation id out")
        if version != -1 and not self.has_versions:
            raise InvalidRequest(
                f"model '{profile.name}' is asked for in version {version}, but the server "
                f"'{self.server}' has no model versions and would answer with the only one; "
                "expected -1, the latest: leave the version out",
                "UNIMPLEMENTED",
            )

    def check_request(self, profile: ModelProfile, request: V1Request) -> None:
        """Raise InvalidRequest for a request that needs what the server does not have."""
        self.check_context(profile, request.model_version, request.correlation_id)
        if request.flags and not self.keeps_sequences:
            raise self._missing(f"flags={request.flags}", SEQUENCE, "pass flags=0")
        regions = [item.shm for item in request.inputs if item.shm]
        regions += [item.shm for item in request.outputs if item.shm]
        if regions and not self.has_regions:
            raise self._missing("shared memory", "system_shared_memory", "pass arrays")

    def _missing(self, argument: str, extension: str, remedy: str) -> InvalidRequest:
        return InvalidRequest(
            f"{argument} needs the extension {extension}, and the server '{self.server}' does not "
            f"have it and would ignore the wish; expected a server that has it: {remedy}, or use "
            "a Triton server for it",
            "UNIMPLEMENTED",
        )

    def with_tensors_of(self, profile: ModelProfile, arguments: RunArguments) -> ModelProfile:
        """Return the profile with the tensors that a request names, typed as its arrays.

        Return the profile itself if the model declares all. Raise InferenceServerException for
        arrays that no tensor can be made of.
        """
        untyped = [spec for spec in profile.inputs.values() if not spec.datatype]
        if profile.inputs and profile.outputs and not untyped:
            return profile
        inputs = dict(profile.inputs)
        outputs = dict(profile.outputs)
        for key, value in arguments.inputs.items():
            name = text(key, "an input name", 3)
            spec = inputs.get(name)
            is_open = self.may_have_inputs(profile) if spec is None else not spec.datatype
            if is_open:
                inputs[name] = _input(name, value, profile)
        for key in arguments.outputs if self.may_have_outputs(profile) else ():
            name = text(key, "an output name", 3)
            outputs.setdefault(name, TensorSpec(name, "", ()))
        return replace(profile, inputs=inputs, outputs=outputs)

    def with_types(self, profile: ModelProfile, request: V1Request) -> V1Request:
        """Return the request with the data types of a profile of :meth:`with_tensors_of`."""
        specs = profile.inputs
        inputs = [item._replace(datatype=specs[item.name].datatype) for item in request.inputs]
        return request._replace(inputs=tuple(inputs))

    def may_have_inputs(self, profile: ModelProfile) -> bool:
        """True if the model declares no inputs."""
        return not profile.inputs

    def untyped_input(self, profile: ModelProfile, name: str) -> InvalidRequest:
        """Return the refusal of an input whose data type neither model nor request declares."""
        return InvalidRequest(
            f"the server declares no data type of input '{name}' of model '{profile.name}', and "
            "requests of this kind tell none; expected one of the types of KServe v2: name it in "
            "the setting models"
        )

    def entry_shape(
        self, profile: ModelProfile, spec: TensorSpec, dims: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the shape of a batch entry of an input with these dims, without the batch."""
        scalars = profile.scalars if isinstance(profile, OpenProfile) else ()
        return () if dims == (1,) and spec.name in scalars else dims

    # --------------------------------------------------------------------------- replies

    def may_have_outputs(self, profile: ModelProfile) -> bool:
        """True if the model declares no outputs."""
        return not profile.outputs

    def refusal_of(self, error: ForeignError) -> ServerError | None:
        """Return the refusal of a server's HTTP framework."""
        if not error.http_status:
            return None
        refusal = ServerError(_refusal_text(error))
        refusal.__cause__ = error
        return refusal

    def check_reply(self, profile: ModelProfile, request: V1Request, reply: InferReply) -> None:
        """Raise ServerError for a reply of another version than the one that was asked for."""
        version = request.model_version
        answered = reply.model_version
        if version >= 0 and answered not in ("", str(version)):
            raise ServerError(
                f"model '{profile.name}' was version for in version {version}, and answered in "
                f"version {answered}: the server does not obey versions; leave the version out",
                "UNIMPLEMENTED",
            )

    def entry_dims_of_other(
        self, profile: ModelProfile, spec: TensorSpec, shape: tuple[int, ...], batch_size: int
    ) -> tuple[int, ...]:
        """Return the dims of one batch entry of an output; one number has dims (1,) in v1."""
        if shape == (batch_size,):
            return (1,)
        if batch_size == 1:  # a server that promises no batch dimension: all is the only entry's
            return shape or (1,)
        raise ServerError(
            f"output '{spec.name}' of model '{profile.name}' has shape {shape_text(shape)} in "
            f"the answer to {batch_size} batch entries; expected as many rows: send one entry at a "
            "time, or, for a model without a batch dimension, say max_batch_size 0 in the setting "
            "models",
            "INTERNAL",
        )

    # --------------------------------------------------------------------------- control

    def load_refusal(self, error: ServerError, name: str) -> ServerError:
        """Return the refusal to load a model, in words: KServe fails to word one."""
        if self.loads_by_repository and "ModelNotReady" in error.message:
            return ServerError(f"Model with name {name} is not ready.", "UNAVAILABLE")
        return error


# ------------------------------------------------------------------- metadata and settings


def _document_of(metadata: ModelMetadata, declared: DeclaredModel) -> ModelConfigDocument:
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


# -------------------------------------------------------------------------------- refusals


def _refusal_text(error: ForeignError) -> str:
    """Return what an answer that is an error says of a request."""
    try:
        detail = _detail(json.loads(error.body))
    except (ValueError, RecursionError, MemoryError):
        detail = ""
    return detail or error.body[:_MOST_BYTES].decode("utf-8", "replace").strip() or str(error)


def _detail(reply: Any) -> str:
    """Return what a server written with FastAPI, such as MLServer, says of a request; else ''.

    Its list names the place and the error, and repeats the request, which is left out here.
    """
    detail = reply.get("detail") if isinstance(reply, dict) else None
    rows = detail if isinstance(detail, list) else [{"msg": detail}]
    texts = []
    for row in rows[:_MOST_DETAILS]:
        said = row.get("msg") if isinstance(row, dict) else None
        place = row.get("loc") if isinstance(row, dict) else None
        if isinstance(said, str):
            where = ".".join(map(str, place)) if isinstance(place, list) else ""
            texts.append(f"{where}: {said}" if where else said)
    return "; ".join(texts)
