"""What a server's word is worth: models as it describes them, and what its replies promise.

A :class:`Dialect` answers every question whose answer depends on the kind of server. The default
answers are those of a server that keeps to KServe v2 with Triton's extensions. A profile has the
dialect of its server, so translation and session call it, and never ask which server it is.
``dialects.py`` chooses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Mapping, Protocol, Sequence

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import ForeignError, InvalidRequest, ServerError
from tritonclient_shim.core.model import (
    InferReply,
    ModelConfigDocument,
    ModelMetadata,
    ServerMetadata,
    V1Request,
)
from tritonclient_shim.settings.models import DeclaredModel

MODEL_CONFIGURATION = "model_configuration"


class ModelSource(Protocol):
    """What a dialect asks a server about models; a backend has these calls."""

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """Return the configuration of a model. Raise BackendError."""

    def model_metadata(self, name: str) -> ModelMetadata:
        """Return the tensors that a model declares. Raise BackendError."""

    def server_metadata(self) -> ServerMetadata:
        """Return name, version and extensions. Raise BackendError."""


@dataclass(frozen=True)
class TensorSpec:
    """What a context must know of one configured tensor."""

    name: str
    datatype: str  # KServe v2 name, "" when the configuration names none
    dims: tuple[int, ...]
    label_filename: str = ""
    is_shape_tensor: bool = False


class Dialect:
    """How a server describes its models, what it can do, and what it means.

    Two dialects that are equal mean the same server. Methods send nothing, except for those that
    take a :class:`ModelSource`.
    """

    #: True if a description holds until something casts doubt on it. False if it holds for seconds,
    #: on one connection.
    description_holds: bool = True
    #: True if outputs in replies have the data types of the description.
    replies_as_described: bool = True
    #: True if the server keeps the requests of a sequence together.
    keeps_sequences: bool = True
    #: True if versions of models are numbers, and a model's versions have descriptions.
    numbers_versions: bool = True
    #: True if the server takes tensors as bytes over HTTP, else as JSON.
    takes_binary: bool = True
    #: True if results of classification have labels.
    has_labels: bool = True
    #: True if it loads and unloads the model that a request names as the repository.
    loads_by_repository: bool = False

    # --------------------------------------------------------------------------- models

    def describe(self, source: ModelSource, name: str, declared: DeclaredModel) -> ModelProfile:
        """Ask for a model, and return its profile. Raise BackendError."""
        raise NotImplementedError

    def documents(
        self, source: ModelSource, models: Iterable[DeclaredModel]
    ) -> dict[str, ModelConfigDocument]:
        """Return configurations of models by name, for a server that has sent none.

        Models that the server refuses to describe are left out.
        """
        return {}

    # -------------------------------------------------------------------------- requests

    def check_context(
        self, profile: ModelProfile, version: int, correlation_id: int, streaming: bool = False
    ) -> None:
        """Raise InvalidRequest for a context, or request, that the server would misunderstand."""

    def check_request(self, profile: ModelProfile, request: V1Request) -> None:
        """Raise InvalidRequest for a request that needs what the server does not have."""

    def with_tensors_of(self, profile: ModelProfile, arguments: RunArguments) -> ModelProfile:
        """Return the profile with the tensors that only these arguments declare.

        Return the profile itself if the server declares all. Raise InferenceServerException for
        arrays that no tensor can be made of.
        """
        return profile

    def with_types(self, profile: ModelProfile, request: V1Request) -> V1Request:
        """Return the request with the data types of a profile of :meth:`with_tensors_of`."""
        return request

    def may_have_inputs(self, profile: ModelProfile) -> bool:
        """True if the model may have inputs that it does not declare."""
        return False

    def untyped_input(self, profile: ModelProfile, name: str) -> InvalidRequest:
        """Return the refusal of an input without a data type that v1 had."""
        return InvalidRequest(
            f"input '{name}' of model '{profile.name}' has a data type that v1 did not have; "
            f"expected one of {dtypes.SHOWN}; send it with tritonclient",
            "UNIMPLEMENTED",
        )

    def entry_shape(
        self, profile: ModelProfile, spec: TensorSpec, dims: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the shape of a batch entry of an input with these dims, without the batch."""
        return dims

    # --------------------------------------------------------------------------- replies

    def may_have_outputs(self, profile: ModelProfile) -> bool:
        """True if the model may have outputs that it does not declare."""
        return False

    def refusal_of(self, error: ForeignError) -> ServerError | None:
        """Return the server's refusal if an answer that is none of KServe v2 is one."""
        return None

    def check_reply(self, profile: ModelProfile, request: V1Request, reply: InferReply) -> None:
        """Raise ServerError for the reply to another request than this.

        Nobody calls it if the server numbers versions.
        """

    def entry_dims_of_other(
        self, profile: ModelProfile, spec: TensorSpec, shape: tuple[int, ...], batch_size: int
    ) -> tuple[int, ...]:
        """Return the dims of one batch entry of an output of another shape than ``(batch_size,
        size, …)``.

        v2 does not check that a model returned a row per batch entry; v1's server did
        (docs/v1-behaviour.md §3.4).
        """
        if shape == (batch_size,):
            return ()
        raise ServerError(
            f"output '{spec.name}' for model '{profile.name}' has shape "
            f"{shape_text(shape)} but model configuration specifies shape "
            f"{shape_text((batch_size, *spec.dims))}",
            "INTERNAL",
        )

    # --------------------------------------------------------------------------- control

    def load_refusal(self, error: ServerError, name: str) -> ServerError:
        """Return the refusal to load a model, in words."""
        return error

    def ends_at_unknown_models(self, server: ServerMetadata) -> bool:
        """True if the server ends when a request on a stream names an unknown model."""
        return False

    def check_offset(self, server: ServerMetadata, name: str, byte_size: int, offset: int) -> None:
        """Raise InvalidRequest for the offset of a shared-memory region that it would misread."""


@dataclass(frozen=True)
class ModelProfile:
    """What a context keeps of a model's description, read once (docs/v1-behaviour.md §3.1)."""

    name: str
    max_batch_size: int
    inputs: Mapping[str, TensorSpec]  # in configuration order
    outputs: Mapping[str, TensorSpec]
    stateful: bool = False  # has a sequence batcher
    ensemble: bool = False
    decoupled: bool = False
    dialect: Dialect = Dialect()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # those of the settings
    #: Every v2 shape of this model starts with the batch dimension.
    batching: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "batching", self.max_batch_size > 0)


def shape_text(dims: Sequence[int]) -> str:
    """Return dims as v1's server wrote them, without spaces (docs/v1-behaviour.md §3.4)."""
    return "[" + ",".join(str(size) for size in dims) + "]"
