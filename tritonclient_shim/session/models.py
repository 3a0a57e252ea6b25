"""What is known of the models of one server, and how a reload is noticed: for contexts, the raw
stub and the gateway alike.

A model's configuration is read once. Where the server has none, the model's metadata are read in
its place: KServe v2 without Triton's extensions is the Open Inference Protocol. Whether a server
has configurations shows when it is asked for one: so nothing more is ever asked of Triton. That it
has none is remembered as long as its connection lasts, for all models and contexts.

Both are read again when the v2 server refuses a request or answers with another data type than
configured, and when this side refuses a request because of them. The model may have been reloaded,
or its server may have been confused; the request is repeated if the configuration has changed. Each
refusal costs one small request at most. Other labels show in no answer. So before outputs are
classified, configuration and labels are asked for again when this process has loaded or unloaded a
model since, and after :data:`BELIEVED` seconds. Metadata are asked for again after that time, or on
another connection, before any request, since another server may have taken the place of the one
that told them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Dict, Sequence

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import BackendError, ForeignError, InvalidRequest, ServerError
from tritonclient_shim.core.metadata import (
    MODEL_CONFIGURATION,
    Capabilities,
    KnownServer,
    capabilities_of,
)
from tritonclient_shim.core.model import (
    InferCall,
    InferReply,
    ModelProfile,
    OutputSpec,
    TensorSpec,
    V1Class,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.core.server_sentences import Meaning, recognise
from tritonclient_shim.settings.models import DeclaredModel
from tritonclient_shim.translate import classes, config, open_servers, to_v1, to_v2
from tritonclient_shim.translate.open_servers import check_context
from tritonclient_shim.translate.to_v1 import Labels

#: Seconds for which labels are believed, and what a server without configurations has told.
BELIEVED = 10.0

#: How a server refuses a path or a call that it does not have, if it words a refusal.
_REFUSED = frozenset(("NOT_FOUND", "UNIMPLEMENTED", "INVALID_ARGUMENT"))
_OF_TRITON = (Meaning.UNKNOWN_MODEL, Meaning.NOT_LOADED)

#: How many times this process has loaded or unloaded a model, on whatever server.
_loads = 0


def loaded() -> None:
    """Note that this process has had a server load or unload a model."""
    global _loads
    _loads += 1


#: The models of one server by name, if their configurations have been read.
KnownModels = Dict[str, "KnownModel"]


class KnownModel:
    """What has been read of one model. Any thread may call.

    ``index`` is the table that the model joins once its configuration has been read.
    """

    def __init__(
        self,
        name: str,
        index: KnownModels | None = None,
        declared: DeclaredModel | None = None,
    ) -> None:
        self.name = name
        self._declared = declared
        #: As last read; None before, and while the model is not loaded.
        self.profile: ModelProfile | None = None
        self._server: KnownServer | None = None  # the one that has told the profile
        self._index = index
        self._labels = LabelBook()
        self._read_at, self._loads = 0.0, 0
        self._misfit: ModelProfile | None = None  # its replies do not fit it, reloaded or not

    def read(self, backend: Backend) -> ModelProfile:
        """Return the profile; ask for it if it is not known. Raises BackendError."""
        profile = self.profile
        if profile is not None and profile.server.configurations:
            return profile
        return self.present(backend) or self._ask(backend)

    def present(self, backend: Backend) -> ModelProfile | None:
        """Return the profile if it need not be asked for."""
        profile = self.profile
        if profile is None or profile.server.configurations:
            return profile
        same = self._believed() and self._server is backend.known_server()
        return profile if same else None

    def _ask(self, backend: Backend) -> ModelProfile:
        """Ask for the profile, in the way that the server is known to have."""
        server = backend.known_server()
        capabilities = server.capabilities(BELIEVED)
        if capabilities is not None:
            with suppress(ServerError, ForeignError):  # perhaps of another server
                return self._keep(self._by_metadata(backend, capabilities), server)
        return self._ask_anew(backend)

    def _ask_anew(self, backend: Backend) -> ModelProfile:
        """Ask for the profile as if nothing were known of the server."""
        try:
            document = backend.model_config(self.name)
        except BackendError as error:
            capabilities = _capabilities_instead(backend, error)
            server = backend.known_server()
            server.learn(capabilities)
            return self._keep(self._by_metadata(backend, capabilities), server)
        backend.known_server().learn(None)
        profile = read(config.to_profile, self.name, document)
        labels = self._declared.labels() if self._declared else {}
        return self._keep(replace(profile, labels=labels) if labels else profile)

    def _by_metadata(self, backend: Backend, server: Capabilities) -> ModelProfile:
        """Ask for the profile on a server without configurations. Raises BackendError."""
        try:
            metadata = backend.model_metadata(self.name)
        except ForeignError as unknown:
            if not unknown.no_such_call:
                raise
            # the HTTP framework refuses a path that no model's name makes, as with a slash in it
            raise ServerError(f"model '{self.name}' is not found", "NOT_FOUND") from unknown
        return read(open_servers.profile_of, self.name, metadata, server, self._declared)

    def _keep(self, profile: ModelProfile, server: KnownServer | None = None) -> ModelProfile:
        self._server = server
        self._read_at, self._loads = monotonic(), _loads
        if profile != self.profile:
            self._labels = LabelBook()
            self.profile = profile
        if self._index is not None:
            self._index[self.name] = self
        return self.profile or profile

    def reloaded(self, backend: Backend, known: ModelProfile) -> bool:
        """Read the configuration again. True if it is not the one that was known.

        One that cannot be read, as of a model that is no longer loaded, stays as it was: v1's
        contexts kept theirs, and the server refuses each request.
        """
        try:
            return self._ask_anew(backend) != known
        except BackendError:
            return False

    def check_context(
        self, backend: Backend, version: int, correlation_id: int, streaming: bool
    ) -> None:
        """Ask again, then raise Refusal, for a context that the server would misunderstand."""
        if self.profile is None:
            return
        try:
            check_context(self.profile, version, correlation_id, streaming)
        except InvalidRequest:
            if not self.reloaded(backend, self.profile):
                raise
            check_context(self.profile, version, correlation_id, streaming)

    def check_stream(self, backend: Backend) -> None:
        """Raise InvalidRequest, after a stream has broken, if the server has no streams by now."""
        if self.profile is not None:
            self.reloaded(backend, self.profile)
            check_context(self.profile, -1, 0, streaming=True)

    def v1_reply(
        self, backend: Backend, profile: ModelProfile, request: V1Request, answer: InferReply
    ) -> V1Reply:
        """Return the v1 reply of a v2 reply. Raise ServerError if v1's server refused it.

        May ask the server for labels, and for the configuration if the reply does not fit it.
        """
        classified = bool([item for item in request.outputs if item.class_count])
        profile = self._current(backend, profile, request, answer, classified)
        labels = None
        if classified:
            labels = self._labels.reader(backend, profile, request, answer.model_version)
        return read(to_v1.v1_reply, profile, request, answer, labels)

    def _current(
        self,
        backend: Backend,
        profile: ModelProfile,
        request: V1Request,
        answer: InferReply,
        classified: bool,
    ) -> ModelProfile:
        """Return the profile to read a reply by: another one, if the model has been reloaded."""
        if not to_v1.fits(profile, answer):
            doubtful = self._misfit != profile
            self._misfit = profile
        elif classified and not to_v2.stateful(profile, request) and not self._believed():
            doubtful = True
            self._labels = LabelBook()
        else:
            return profile
        if doubtful and self.reloaded(backend, profile) and self.profile is not None:
            return self.profile
        return profile

    def _believed(self) -> bool:
        return self._loads == _loads and monotonic() - self._read_at < BELIEVED


def _capabilities_instead(backend: Backend, error: BackendError) -> Capabilities:
    """Return what the server can do, after the configuration of a model was refused with ``error``.

    Raises BackendError: the same where the server has configurations, or is none of this protocol.
    """
    if not error.no_such_call:
        if not isinstance(error, ServerError) or error.code not in _REFUSED:
            raise error
        if recognise(error.message, _OF_TRITON) is not None:
            raise error
    try:
        metadata = backend.server_metadata()
    except BackendError:
        raise error from None
    if MODEL_CONFIGURATION in metadata.extensions:
        raise error
    return capabilities_of(metadata)


class LabelBook:
    """The labels of one model, by output and model version.

    v2 tells them only inside classification results. A stateless model is asked once more with the
    same inputs, for every class, when its labels are first needed. A model with state is never
    asked twice (docs/v2-mapping.md §1).
    """

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], list[str]] = {}

    def reader(
        self, backend: Backend, profile: ModelProfile, request: V1Request, version: str
    ) -> Labels:
        """Return what finds labels for the reply to ``request`` from model ``version``."""

        def labels(spec: TensorSpec, count: int) -> Sequence[str]:
            declared = profile.labels.get(spec.name)
            if declared and not to_v2.has_labels(profile, spec):
                return declared[:count]
            if not to_v2.has_labels(profile, spec) or to_v2.stateful(profile, request):
                return ()
            key = (spec.name, version)
            known = self._labels.get(key, [])
            if len(known) < count:
                best = _learn(backend, profile, request, version, spec)
                known = self._labels[key] = classes.labels_by_index(best, count)
            return known

        return labels


def _learn(
    backend: Backend, profile: ModelProfile, request: V1Request, version: str, spec: TensorSpec
) -> list[V1Class]:
    asked = to_v2.infer_call(profile, request, backend.endpoint.protocol)
    everything = (OutputSpec(spec.name, classes.ALL_CLASSES),)
    reply = backend.infer(InferCall(profile.name, version, asked.inputs, everything))
    texts = [tensor.data for tensor in reply.outputs if tensor.datatype == dtypes.STRING.v2]
    # A v2 server without the classification extension answers with the tensor, if with any.
    rows = classes.from_texts(texts[0] or b"", request.batch_size) if texts else []
    return rows[0] if rows else []
