"""One inference, for every front: contexts, the raw stub and the gateway, however they wait.

::

    request ── prepare ──► call ── send ──► outcome ── read_reply ──► V1Reply

An :class:`Exchange` has all of them. A front makes the request (:meth:`Exchange.make`), sends the
call in its own way, and makes results or messages of the reply. A refusal is an outcome that came
before there was a call.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Callable

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    InvalidRequest,
    ServerError,
    shown_cause,
)
from tritonclient_shim.core.model import (
    InferCall,
    InferReply,
    V1Input,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.servers.base import ModelProfile
from tritonclient_shim.servers.triton_sentences import Meaning, says
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.output_regions import needs_sizes, within_regions
from tritonclient_shim.session.plan import RequestPlan
from tritonclient_shim.session.reloads import CONSEQUENCES, Doubt, doubt_of
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import to_v1, to_v2
from tritonclient_shim.translate.to_v1 import ReplyPlan, RequestContext

_NO_INFER_STATUS = "infer request did not return status"
_DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy"

#: Sends a call and waits for its reply. Raises BackendError.
Send = Callable[[InferCall], InferReply]


class Exchange:
    """A request to a model, with all that becomes of it.

    ``request_id`` is the server-side id, which v1's server gave each request. ``client_id`` is the
    id in the request's header, 0 for none, which the reply repeats (docs/v1-behaviour.md §4.5).

    One thread at a time uses an exchange. Who sends the call hands it on with the outcome.
    """

    #: False before :meth:`prepare`, and after :meth:`refuse`: nothing follows such an outcome.
    is_prepared = False
    #: True after :meth:`drop_inputs`.
    has_dropped_inputs = False
    # Of a request that is prepared:
    request: V1Request
    plan: RequestPlan
    #: The call; None before :meth:`prepare`, and if its inputs were dropped.
    call: InferCall | None = None
    #: The reply or the error; None until there is one.
    outcome: Outcome | None = None

    def __init__(
        self,
        session: ServerSession,
        model: KnownModel,
        version: int,
        request_id: int,
        client_id: int,
    ) -> None:
        self.session = session
        self.model = model
        self.version = version
        self.request_id = request_id
        self.client_id = client_id

    def make(self, profile: ModelProfile) -> tuple[V1Request, RequestPlan]:
        """Return the request for a model, and its plan.

        Raise BackendError for what v1's server refused.
        """
        raise NotImplementedError

    # ----------------------------------------------------------------------- request and call

    def prepare(self, streaming: bool = False) -> InferCall:
        """Make request and call. Raises BackendError; a refusal of v1's server is a ServerError.

        May ask the server for the model's configuration. ``streaming`` also refuses a request for
        a server without streams.
        """
        backend = self.session.backend
        profile = self.model.read(backend)
        try:
            call = self._prepare(profile, streaming)
        except InvalidRequest:
            if profile.dialect.numbers_versions:  # v1's server looked for the version first
                name = self.model.name
                protocol = self.session.endpoint.protocol
                version = to_v2.version(name, self.version, protocol)
                if version:
                    self.model.check_version(backend, version)
            # The profile may be outdated, or of a confused server: read it once more.
            if not self.model.has_changed(self.session, profile, Doubt.REFUSED_HERE):
                raise
            call = self._prepare(self.model.read(backend), streaming)
        if self.plan.calls.has_output_regions:
            call = self.call = within_regions(call, self.model, backend)
        return call

    def prepare_promptly(self, streaming: bool = False) -> InferCall | None:
        """Make request and call without asking the server; None if it may have to be asked."""
        backend = self.session.backend
        profile = self.model.present(backend)
        if profile is None:
            return None
        with suppress(ServerError):  # the configuration is read again before it is raised
            call = self._prepare(profile, streaming)
            if not needs_sizes(call, backend):
                return call
        return None

    def _prepare(self, profile: ModelProfile, streaming: bool) -> InferCall:
        if profile.decoupled:
            raise InvalidRequest(_DECOUPLED, "UNIMPLEMENTED")
        if self.has_dropped_inputs:
            dropped = "a request whose inputs were dropped cannot be made again"
            raise InvalidRequest(dropped, "INTERNAL")
        request, plan = self.make(profile)
        if streaming:
            profile.dialect.check_context(profile, -1, 0, streaming=True)
        self.request = request
        self.plan = plan
        self.call = plan.calls.bind(request)
        self.is_prepared = True
        return self.call

    def number_call(self, wire_id: str) -> InferCall:
        """Return the call with an id of a stream, and keep that."""
        call = self.call
        assert call is not None, "prepare the call first"
        self.call = call._replace(request_id=wire_id)
        return self.call

    def drop_inputs(self) -> None:
        """Drop the input arrays and the call. Keep a copy of the first entry for labels.

        For asynchronous requests: their arrays may be large, and the caller may reuse them. He may
        also write into regions of shared memory meanwhile. So they are never sent again.
        """
        self.call = None
        self.has_dropped_inputs = True
        request = self.request
        if not [item for item in request.inputs if item.chunks]:  # all in shared memory
            return
        inputs: tuple[V1Input, ...] = ()
        if self.plan.replies.is_classified and not self.plan.is_stateful:
            inputs = to_v2.first_entry(self.plan.profile, request) or to_v2.copied(request)
        self.request = request._replace(inputs=inputs)

    # -------------------------------------------------------------------------------- outcome

    def run(self, send: Send) -> None:
        """Prepare the request, send the call, and keep the outcome."""
        try:
            self.outcome = send(self.prepare())
        except BackendError as error:
            self.outcome = error

    def refuse(self, error: BackendError) -> None:
        """Make an error the outcome of a request that was not sent, or whose reply is too late.

        Then nothing is asked, and nothing is sent again. A thread that waits for the configuration
        in :meth:`prepare` meanwhile does not change the outcome.
        """
        self.is_prepared = False
        self.outcome = error

    # ---------------------------------------------------------------------------------- reply

    def read_promptly(self) -> V1Reply | None:
        """Return the reply without asking the server; None if :meth:`read_reply` may have to ask.

        It asks for labels, and for the configuration if a reply does not fit.
        """
        reply = self.outcome
        if not isinstance(reply, InferReply) or self.plan.replies.is_classified:
            return None
        if self.plan.is_stateful and to_v1.version_number(reply.model_version) < 0:
            return None
        if not self.plan.replies.fits(reply):
            return None
        with suppress(BackendError):
            return self._read()
        return None

    def read_reply(self, send: Send) -> V1Reply:
        """Return the reply. Raises InferenceServerException when the request was refused.

        A request that was refused because the model has been reloaded is sent once more with
        ``send``, unless it must not be sent twice. A reply that does not fit is read once more if
        the model has been reloaded.
        """
        try:
            try:
                return self._read()
            except BackendError as error:
                self._forget_regions(error)
                if isinstance(self.outcome, InferReply):
                    if not self._may_reread(error):
                        raise
                elif self._may_repeat(error):
                    self.outcome = send(self.prepare())
                else:
                    raise
            return self._read()
        except BackendError as error:
            raise self.error(error) from shown_cause(error)

    def _read(self) -> V1Reply:
        """Return the reply. Raises BackendError."""
        reply = self.outcome
        if not isinstance(reply, InferReply):
            raise self._backend_error()
        plan = self.plan
        dialect = plan.profile.dialect
        if not dialect.numbers_versions:
            dialect.check_reply(plan.profile, self.request, reply)
        elif plan.is_stateful:
            self._check_server(reply)
        if plan.replies.is_classified or not plan.replies.fits(reply):
            return self.model.v1_reply(self.session, plan.replies, self.request, reply)
        return read(plan.replies.read, reply, self.request.id, None)

    def _backend_error(self) -> BackendError:
        """Return the error that is the outcome."""
        error = self.outcome
        if not isinstance(error, BackendError):
            raise AssertionError("the exchange has no outcome yet")
        if not self.is_prepared or not isinstance(error, ForeignError):
            return error
        return self.plan.profile.dialect.refusal_of(error) or error

    def error(self, error: BackendError) -> InferenceServerException:
        """Return the error to raise from an error, in v1's words."""
        profile = self.model.profile
        batching = profile is not None and profile.batching
        asked = RequestContext(self.model.name, str(self.version), batching)
        return self.session.to_v1_error(error, self.request_id, _NO_INFER_STATUS, asked)

    # -------------------------------------------------------------- what the outcome calls for

    def _forget_regions(self, error: BackendError) -> None:
        """Forget the sizes of regions if one of them was smaller than known."""
        if says(str(error), Meaning.BEYOND_REGION):
            self.session.backend.known_server().region_sizes.clear()

    def _may_reread(self, error: BackendError) -> bool:
        """True if the reply may be read again, because the model has been reloaded.

        Not the reply to a request that another server has misunderstood.
        """
        doubt = doubt_of(error)
        if doubt is Doubt.REFUSED:  # by this side, as a reply that does not fit
            doubt = Doubt.MISFIT
        if not self.model_has_changed(doubt):
            return False
        request = self.request
        profile = self.model.profile or self.plan.profile
        replies = ReplyPlan(profile, request.batch_size, request.outputs)
        self.plan = replace(self.plan, profile=profile, replies=replies)
        return True

    def _may_repeat(self, error: BackendError) -> bool:
        """True if the model was reloaded, so the request may be sent again. Raise BackendError."""
        doubt = doubt_of(error)
        if not self.model_has_changed(doubt) or not CONSEQUENCES[doubt].sends_again:
            return False
        if self.call is None or self.plan.is_stateful:
            self._check_request()
            return False
        return True

    def model_has_changed(self, doubt: Doubt) -> bool:
        """Read the configuration again if the doubt asks for it. True if it has changed."""
        return self.is_prepared and self.model.has_changed(self.session, self.plan.profile, doubt)

    def _check_server(self, reply: InferReply) -> None:
        """Raise InvalidRequest if another server has answered, which misunderstands the request."""
        # Triton numbers its versions: another server may have replaced it.
        if to_v1.version_number(reply.model_version) >= 0:
            return
        if self.model_has_changed(Doubt.OTHER_SERVER):
            self._check_request()

    def _check_request(self) -> None:
        """Raise InvalidRequest if the server that listens now would misunderstand the request.

        Triton understands every request: for its dialect nothing is checked here.
        """
        profile = self.model.profile
        if profile is not None:
            profile.dialect.check_request(profile, self.request)
