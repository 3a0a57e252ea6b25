"""What is known of the models of one server, and how a reload is noticed.

A model's description is read once. The dialect of the server says what it is: Triton has a
configuration. A server shows its dialect when it is asked for one (``servers/dialects.py``). The
connection remembers it for all models and contexts.

A description is read again when :mod:`~tritonclient_shim.session.reloads` says so. The
model may have been reloaded, or the server confused. A refusal costs one small request, one more
for a context of a version, and two more if the server is not Triton.

No reply shows that labels have changed. So configuration and labels are read again before outputs
are classified, if this process has loaded or unloaded a model since, or after :data:`BELIEVED`
seconds. The connection remembers labels with the time when they were fetched.
Some dialects' descriptions do not hold longer. After that time, or on another connection, they are
read again before any request is sent. Its arguments were checked with the old one by then. Another
server may listen there.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Callable, Dict, Sequence, TypeVar

from tritonclient_shim.backends.base import Backend, call_with, current_headers
from tritonclient_shim.concurrency.questions import Questions
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    ServerError,
    TransportError,
    UnreadableReply,
)
from tritonclient_shim.core.model import InferReply, V1Reply, V1Request
from tritonclient_shim.core.reading import read
from tritonclient_shim.servers.base import ModelProfile, TensorSpec
from tritonclient_shim.servers.dialects import describe
from tritonclient_shim.servers.known import KnownLabels, KnownServer
from tritonclient_shim.session.reloads import CONSEQUENCES, Doubt, doubt_of
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.settings.models import DeclaredModel
from tritonclient_shim.translate import classes, to_v2
from tritonclient_shim.translate.to_v1 import ReplyPlan

_Answer = TypeVar("_Answer")

#: Seconds for which a server that is busy, or does not answer, is not asked for labels again.
LABELS_PAUSE = 1.0

#: Seconds for which labels are believed, and descriptions that need not hold for longer.
BELIEVED = 10.0

#: How many times this process has loaded or unloaded a model, on whatever server.
_loads = 0


def note_load() -> None:
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
        self, name: str, index: KnownModels | None = None, declared: DeclaredModel | None = None
    ) -> None:
        self.name = name
        self._declared = declared or DeclaredModel(name)
        #: As last read; None before, and while the model is not loaded.
        self.profile: ModelProfile | None = None
        self._server: KnownServer | None = None  # that has described the model
        self._index = index
        #: When the server was last too busy to answer for labels, or did not answer.
        self._labels_unanswered_at = -LABELS_PAUSE
        self._read_at = 0.0
        self._loads = 0
        self._questions = Questions()
        self._misfit: ModelProfile | None = None  # its replies do not fit it, reloaded or not

    def read(self, backend: Backend) -> ModelProfile:
        """Return the profile; ask for it if it is not known. Raises BackendError."""
        profile = self.profile
        if profile is not None and (profile.dialect.description_holds or self._holds(backend)):
            return profile
        server = backend.known_server()
        dialect = server.dialect(BELIEVED)
        if dialect is not None:
            with suppress(ServerError, ForeignError):  # perhaps of another server
                return self._keep(dialect.describe(backend, self.name, self._declared), server)
        return self._ask_anew(backend)

    def present(self, backend: Backend) -> ModelProfile | None:
        """Return the profile if it need not be asked for."""
        profile = self.profile
        if profile is None or profile.dialect.description_holds or self._holds(backend):
            return profile
        return None

    def _holds(self, backend: Backend) -> bool:
        """True if a description that holds for seconds on one connection still does."""
        return self._believed() and self._server is backend.known_server()

    def _ask_anew(self, backend: Backend) -> ModelProfile:
        """Ask for the profile as if nothing were known of the server."""
        profile, server = describe(backend, self.name, self._declared)
        return self._keep(profile, server)

    def _keep(self, profile: ModelProfile, server: KnownServer) -> ModelProfile:
        self._server = server
        self._read_at = monotonic()
        self._loads = _loads
        if profile != self.profile:
            self.profile = profile
        if self._index is not None:
            self._index[self.name] = self
        return self.profile or profile

    def has_changed(self, session: ServerSession, known: ModelProfile, doubt: Doubt) -> bool:
        """Read the configuration again if the doubt asks for it. True if it has changed.

        One that cannot be read, as of a model that is no longer loaded, stays as it was: v1's
        contexts kept theirs, and the server refuses each request. So does one that the server does
        not send within seconds. The caller has an error or a reply already.
        """
        if not CONSEQUENCES[doubt].reads_configuration:
            return False
        try:
            ask = partial(self._ask_anew, session.backend)
            return self.ask_in_time(session.backend, "configuration", ask) != known
        except (BackendError, RuntimeError, TimeoutError):
            return False

    def check_version(self, backend: Backend, version: str) -> None:
        """Raise BackendError if the server refuses to describe this version of the model."""
        with suppress(RuntimeError, TimeoutError):
            ask = partial(backend.model_config, self.name, version)
            self.ask_in_time(backend, f"version {version}", ask)

    def ask_in_time(self, backend: Backend, subject: str, ask: Callable[[], _Answer]) -> _Answer:
        """Ask within seconds. Raise what :meth:`Questions.ask` raises.

        The question has the headers of this thread: the gateway's clients have their own. So a
        question of another user is another question.
        """
        headers = current_headers()
        subjects = subject, backend.user, headers
        return self._questions.ask(subjects, partial(call_with, headers, ask))

    def v1_reply(
        self, session: ServerSession, plan: ReplyPlan, request: V1Request, reply: InferReply
    ) -> V1Reply:
        """Return the v1 reply of a v2 reply. Raise ServerError if v1's server refused it.

        ``plan`` is that of the request's replies. May ask the server for labels, and for the
        configuration if the reply does not fit it.
        """
        profile = plan.profile
        doubt = self._doubt_of_reply(plan, request, reply)
        if doubt is not None and self.has_changed(session, profile, doubt):
            profile = self.profile or profile
            plan = ReplyPlan(profile, request.batch_size, request.outputs)
        labels = None
        if plan.is_classified:
            version = reply.model_version
            labels = partial(self._labels_of, session.backend, profile, request, version)
        return read(plan.read, reply, request.id, labels)

    def _doubt_of_reply(
        self, plan: ReplyPlan, request: V1Request, reply: InferReply
    ) -> Doubt | None:
        """Return the doubt that a reply raises; None without one.

        Replies that never fit an unchanged configuration raise it once.
        """
        profile = plan.profile
        if not plan.fits(reply):
            is_known = self._misfit == profile
            self._misfit = profile
            return None if is_known else Doubt.MISFIT
        if not plan.is_classified or self._believed() or to_v2.stateful(profile, request):
            return None
        return Doubt.OLD_LABELS

    def _labels_of(
        self,
        backend: Backend,
        profile: ModelProfile,
        request: V1Request,
        version: str,
        spec: TensorSpec,
        count: int,
    ) -> Sequence[str]:
        """Return labels of an output, for the reply to a request from a version of the model.

        v2 tells labels only inside classification results. So a stateless model is asked once more
        with the first entry of the inputs, for every class. A model with state is never asked twice
        (docs/v2-mapping.md §1). If the server refuses, the labels known for this configuration
        stay, unless this process has loaded a model since. Else there are none: the result is there
        already.
        """
        if not to_v2.has_labels(profile, spec):
            return profile.labels.get(spec.name, ())[:count]
        if to_v2.stateful(profile, request):
            return ()
        labels_by_output = backend.known_server().labels
        key = (profile.name, version, spec.name)
        labels = labels_by_output.get(key)
        if labels is not None and labels.profile != profile:
            labels = None
        if labels is None or not _is_current(labels) or len(labels.texts) < count:
            ask = partial(self._fetch_labels, backend, profile, request, version, spec, count)
            fetched = self._ask_for_labels(backend, (spec.name, version), ask)
            if fetched is not None:
                labels = labels_by_output[key] = fetched
            elif labels is not None and labels.loads != _loads:
                labels = None
        return () if labels is None else labels.texts

    def _ask_for_labels(
        self, backend: Backend, subject: tuple[str, str], ask: Callable[[], KnownLabels]
    ) -> KnownLabels | None:
        """Ask, unless the server was busy or silent a moment ago. Return None if it refuses.

        The question is an inference, which may take as long as the caller's own. After any other
        refusal it is asked again for the next result.
        """
        if monotonic() - self._labels_unanswered_at < LABELS_PAUSE:
            return None
        headers = current_headers()
        try:
            return self._questions.ask(
                ("labels", subject, backend.user, headers),
                partial(call_with, headers, ask),
                limited=False,
            )
        except UnreadableReply:  # no refusal: whatever answers so is not to be trusted
            raise
        except BackendError as error:
            if isinstance(error, TransportError) or doubt_of(error) is Doubt.BUSY:
                self._labels_unanswered_at = monotonic()
        except RuntimeError:  # no thread
            pass
        return None

    def _fetch_labels(
        self,
        backend: Backend,
        profile: ModelProfile,
        request: V1Request,
        version: str,
        spec: TensorSpec,
        count: int,
    ) -> KnownLabels:
        """Ask the model for all classes of an output. Raise BackendError."""
        loads = _loads
        now = monotonic()
        asking = to_v2.with_first_entry(profile, request)  # all entries have these labels
        call = to_v2.label_call(profile, asking, spec.name, backend.endpoint.protocol)
        reply = backend.infer(call._replace(model_version=version))
        texts = [item.data for item in reply.outputs if item.datatype == dtypes.STRING.v2]
        # A v2 server without the classification extension answers with the tensor, if with any.
        data = texts[0] if texts else None
        labels = read(classes.labels_by_index, data or b"", asking.batch_size, count)
        return KnownLabels(labels, profile, now, loads)

    def _believed(self) -> bool:
        return self._loads == _loads and monotonic() - self._read_at < BELIEVED


def _is_current(labels: KnownLabels) -> bool:
    """True if the labels need not be fetched again."""
    return labels.loads == _loads and monotonic() - labels.fetched_at < BELIEVED
