"""What is known of the models of one server, and how a reload is noticed: for contexts, the raw
stub and the gateway alike.

A model's configuration is read once; where the server has none, the model's metadata are read in
its place. That a server has none is remembered as long as its connection lasts, for all models and
contexts. Both are read again when the v2 server refuses a request or answers with another data type
than configured, and when this side refuses a request because of them. The model may have been
reloaded, or its server may have been confused; the request is repeated if the configuration has
changed. Each refusal costs one small request at most. Other labels show in no answer. So before
outputs are classified, configuration and labels are asked for again when this process has loaded or
unloaded a model since, and after :data:`BELIEVED` seconds. Metadata are asked for again after that
time, or on another connection, before any request, since another server may have taken the place of
the one that told them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Dict

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import Fault, ForeignFault, Refusal, ServerFault
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import (
    InferReply,
    ModelConfigDocument,
    ModelProfile,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.session.descriptions import capabilities_instead, profile_instead
from tritonclient_shim.session.labels import LabelBook
from tritonclient_shim.settings.models import DeclaredModel
from tritonclient_shim.translate import config, to_v1, to_v2
from tritonclient_shim.translate.capabilities import check_context

#: Seconds for which labels are believed, and what a server without configurations has told.
BELIEVED = 10.0

#: How many times this process has loaded or unloaded a model, on whatever server.
_loads = 0


def loaded() -> None:
    """Note that this process has had a server load or unload a model."""
    global _loads
    _loads += 1


#: The models of one server by name, those of which the configuration has been read.
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
        """Return the profile; ask for it if it is not known. Raises Fault."""
        profile = self.profile
        if profile is not None and profile.server.configurations:
            return profile
        return self.present(backend) or self._asked(backend)

    def present(self, backend: Backend) -> ModelProfile | None:
        """The profile if it need not be asked for."""
        profile = self.profile
        if profile is None or profile.server.configurations:
            return profile
        same = self._believed() and self._server is backend.known_server()
        return profile if same else None

    def _asked(self, backend: Backend) -> ModelProfile:
        """The profile, asked for in the way of which the server is known."""
        server = backend.known_server()
        capabilities = server.capabilities(BELIEVED)
        if capabilities is not None:
            with suppress(ServerFault, ForeignFault):  # perhaps of another server
                profile = profile_instead(backend, self.name, capabilities, self._declared)
                return self._keep(profile, server)
        return self._asked_anew(backend)

    def _asked_anew(self, backend: Backend) -> ModelProfile:
        """The profile, asked for as if nothing were known of the server."""
        try:
            document = backend.model_config(self.name)
        except Fault as fault:
            capabilities = capabilities_instead(backend, fault)
            server = backend.known_server()
            server.learn(capabilities)
            profile = profile_instead(backend, self.name, capabilities, self._declared)
            return self._keep(profile, server)
        backend.known_server().learn(None)
        return self.learn(document)

    def learn(self, document: ModelConfigDocument) -> ModelProfile:
        """The profile of a configuration that the server has just told. Raises Fault."""
        profile = read(config.to_profile, self.name, document)
        labels = self._declared.labels() if self._declared else {}
        return self._keep(replace(profile, labels=labels) if labels else profile)

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
        """Read the configuration again: is it another than the one that was known?

        One that cannot be read, as of a model that is no longer loaded, stays as it was: v1's
        contexts kept theirs, and the server refuses each request.
        """
        try:
            return self._asked_anew(backend) != known
        except Fault:
            return False

    def check_context(
        self, backend: Backend, version: int, correlation_id: int, streaming: bool
    ) -> None:
        """Refusal for a context that the server would misunderstand, which is asked once more."""
        if self.profile is None:
            return
        try:
            check_context(self.profile, version, correlation_id, streaming)
        except Refusal:
            if not self.reloaded(backend, self.profile):
                raise
            check_context(self.profile, version, correlation_id, streaming)

    def check_stream(self, backend: Backend) -> None:
        """After a stream has broken: Refusal if the server that listens now has no streams."""
        if self.profile is not None:
            self.reloaded(backend, self.profile)
            check_context(self.profile, -1, 0, streaming=True)

    def v1_reply(
        self, backend: Backend, profile: ModelProfile, request: V1Request, answer: InferReply
    ) -> V1Reply:
        """The v1 reply of a v2 reply. Raises Fault, ServerFault where v1's server refused it.

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
        """The profile by which to read a reply: another one, if the model has been reloaded."""
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
