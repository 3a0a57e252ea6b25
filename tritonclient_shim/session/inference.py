"""One inference, for every front: contexts, the raw stub and the gateway, however they wait.

::

    Inference ── prepare ──► Sendable ── the front sends its call ──► Answer ── reply ──► V1Reply

A front says how its request is made, sends the call in its own way, and makes results or messages
of the reply. An inference that was refused before it was sent has an answer, too: :class:`Refused`.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Union

from tritonclient_shim.backends.base import CallHeaders, Outcome
from tritonclient_shim.core.errors import (
    Fault,
    ForeignFault,
    InferenceServerException,
    Refusal,
    ServerFault,
    shown_cause,
)
from tritonclient_shim.core.model import InferCall, InferReply, ModelProfile, V1Reply, V1Request
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.prepared import BoundRequest, PreparedRequest
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import to_v1, to_v2
from tritonclient_shim.translate.capabilities import check_capabilities, check_context
from tritonclient_shim.translate.wording import RequestContext

_NO_STATUS = "infer request did not return status"
_DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy"

#: Refusals of a server that has too much to do: they say nothing about the model.
_BUSY = frozenset(("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"))

#: Sends a call and waits for its reply. Raises Fault.
Send = Callable[[InferCall], InferReply]

#: Makes the request for a model. Raises Fault for what v1's server refused.
MakeRequest = Callable[[ModelProfile], V1Request]


class Identity(NamedTuple):
    """Whose inference it is: what its answer and its errors name.

    ``request_id`` is the server-side id, which v1's server gave each request. ``client_id`` is the
    id in the request's header, 0 for none, which the answer repeats (docs/v1-behaviour.md §4.5).
    """

    session: ServerSession
    model: KnownModel
    version: int
    request_id: int
    client_id: int

    def error(self, fault: Fault, batching: bool = False) -> InferenceServerException:
        """Return the error to raise from a fault, in v1's words."""
        asked = RequestContext(self.model.name, str(self.version), batching)
        return self.session.fault_to_error(fault, self.request_id, _NO_STATUS, asked)


class Inference(NamedTuple):
    """A request for a model, before the model's configuration is looked at.

    ``headers`` go with the call beside the request, as headers or metadata.
    """

    identity: Identity
    make: MakeRequest
    bound: BoundRequest | None = None
    headers: CallHeaders = ()

    def prepare(self, streaming: bool = False) -> Sendable:
        """Return what can be sent. Raises Fault; a refusal of v1's server is a ServerFault.

        May ask the server for the model's configuration. ``streaming`` also refuses a request for
        a server without streams.
        """
        session, model = self.identity[:2]
        backend = session.backend
        profile = model.read(backend)
        bound = self.bound
        if bound is not None and bound.prepared.profile is profile:
            request, call, prepared = bound.request, bound.call, bound.prepared
            return Sendable(self.identity, profile, request, call, self, prepared)
        protocol = backend.endpoint.protocol
        try:
            return self._sendable(profile, protocol, streaming)
        except Refusal:
            if profile.server.configurations:
                self._check_version(protocol)
            # A profile that was read from a confused server, or has changed since, refuses
            # requests that the model takes: it is read once more, at the cost of one request.
            if not model.reloaded(backend, profile):
                raise
        return self._sendable(model.read(backend), protocol, streaming)

    def prepare_promptly(self, streaming: bool = False) -> Sendable | None:
        """Return what can be sent without asking the server; None if it may have to be asked."""
        session, model = self.identity[:2]
        if model.profile is None:
            return None
        profile = model.present(session.backend)
        if profile is None:
            return None
        try:
            return self._sendable(profile, session.endpoint.protocol, streaming)
        except ServerFault:  # the configuration is read again before it is raised
            return None

    def _sendable(self, profile: ModelProfile, protocol: str, streaming: bool) -> Sendable:
        if profile.decoupled:
            raise Refusal(_DECOUPLED, "UNIMPLEMENTED")
        request = self.make(profile)
        call = to_v2.infer_call(profile, request, protocol)
        if streaming:
            check_context(profile, -1, 0, streaming=True)
        if self.headers:
            call = call._replace(headers=self.headers)
        return Sendable(self.identity, profile, request, call, self, None)

    def _check_version(self, protocol: str) -> None:
        """Raise Fault if there is no such version: v1's server looked for the version first."""
        session, model, version, *_ = self.identity
        number = to_v2.version(model.name, version, protocol)
        if number:
            session.backend.model_config(model.name, number)

    def run(self, send: Send) -> Answer:
        """Prepare the request and send it."""
        try:
            sendable = self.prepare()
        except Fault as fault:
            return Refused(self.identity, fault)
        try:
            return Answered(sendable, send(sendable.call))
        except Fault as fault:
            return Answered(sendable, fault)


class Sendable(NamedTuple):
    """A request with the v2 call that carries it; ``profile`` is the model that it is made for.

    ``again`` makes it anew after a reload; None if it must not be sent a second time.
    """

    identity: Identity
    profile: ModelProfile
    request: V1Request
    call: InferCall
    again: Inference | None
    prepared: PreparedRequest | None

    def with_id(self, wire_id: str) -> Sendable:
        """Return it under another id on the wire."""
        return self._replace(call=self.call._replace(request_id=wire_id))

    def without_inputs(self) -> Sendable:
        """Return it without the input data, unless labels may have to be asked for with them.

        For asynchronous requests: their arrays may be large, and the caller may reuse them.
        """
        request = self.request
        if not self.classified:
            request = request._replace(inputs=())
        return self._replace(request=request, call=self.call._replace(inputs=()), again=None)

    @property
    def classified(self) -> bool:
        """True if the best classes of any output are wanted."""
        return any(output.class_count for output in self.request.outputs)

    @property
    def stateful(self) -> bool:
        """True if the request must keep its place among others, and never be sent twice."""
        return to_v2.stateful(self.profile, self.request)

    def error(self, fault: Fault) -> InferenceServerException:
        """Return the error to raise from a fault, in v1's words."""
        return self.identity.error(fault, self.profile.batching)

    def answered(self, outcome: Outcome) -> Answered:
        """Return what can be read, after the call has been sent."""
        return Answered(self, outcome)


class Refused(NamedTuple):
    """The answer to an inference that was refused, or failed, before it was sent."""

    identity: Identity
    fault: Fault

    def is_prompt(self) -> bool:
        """Return False: the error names the server, which may have to be asked for its name."""
        return False

    def reply(self, again: Send) -> V1Reply:
        """Raise the refusal as InferenceServerException."""
        try:
            raise self.fault
        except Fault as fault:
            raise self.identity.error(fault) from shown_cause(fault)


class Answered(NamedTuple):
    """A request that was sent, and its outcome."""

    sent: Sendable
    outcome: Outcome

    @property
    def identity(self) -> Identity:
        """Return whose inference it is."""
        return self.sent.identity

    def is_prompt(self) -> bool:
        """True if the outcome can be read without asking the server anything."""
        if isinstance(self.outcome, Fault) or self.sent.classified:
            return False
        return to_v1.fits(self.sent.profile, self.outcome)

    def checked(self) -> Outcome:
        """Return the outcome, or how v1's server would have refused it; asks nobody."""
        if isinstance(self.outcome, Fault):
            return self.outcome
        return to_v1.refusal(self.sent.profile, self.sent.request, self.outcome) or self.outcome

    def reply(self, again: Send) -> V1Reply:
        """Return the reply. Raises InferenceServerException when the request was refused.

        A request that was refused because the model has been reloaded is sent once more with
        ``again``, unless it must not be sent twice.
        """
        sent = self.sent
        try:
            return self._read()
        except Fault as fault:
            try:
                inference = self._may_repeat(fault)
            except Fault as other:
                raise sent.error(other) from shown_cause(other)
            if inference is None:
                raise sent.error(fault) from shown_cause(fault)
        answer = inference.run(again)
        if isinstance(answer, Refused):
            return answer.reply(again)
        try:
            return answer._read()
        except Fault as fault:
            raise answer.sent.error(fault) from shown_cause(fault)

    def _read(self) -> V1Reply:
        """Return the reply. Raises Fault."""
        sent, outcome = self.sent, self.outcome
        if isinstance(outcome, Fault):
            raise self._worded(outcome)
        prepared = sent.prepared
        known = prepared and prepared.v1_reply(outcome, sent.identity.client_id)
        if known:
            return known
        session, model = sent.identity[:2]
        if not sent.profile.server.configurations or sent.stateful:
            self._check_server(outcome)
        reply = model.v1_reply(session.backend, sent.profile, sent.request, outcome)
        if prepared is not None:
            prepared.learn(outcome, reply)
        return reply

    def _worded(self, fault: Fault) -> Fault:
        """Return the fault; the refusal of an HTTP framework, of a server that is not Triton, as
        a server's.
        """
        described = self.sent.profile.server.configurations
        if not described and isinstance(fault, ForeignFault) and fault.refusal:
            refused = ServerFault(fault.refusal, "INVALID_ARGUMENT")
            refused.__cause__ = fault
            return refused
        return fault

    def _may_repeat(self, fault: Fault) -> Inference | None:
        """Return the inference to send again, after a reload of the model. Raises Fault."""
        if isinstance(fault, Refusal) or not isinstance(fault, (ServerFault, ForeignFault)):
            return None
        if isinstance(fault, ForeignFault) and not fault.refusal:  # it has answered, if oddly
            return None
        if isinstance(fault, ServerFault) and fault.code in _BUSY:
            return None
        session, model = self.sent.identity[:2]
        if not model.reloaded(session.backend, self.sent.profile):
            return None
        if self.sent.again is None or self.sent.stateful:
            self._check_request()
            return None
        return self.sent.again

    def _check_server(self, reply: InferReply) -> None:
        """Raise ServerFault for a reply of a server that has not done what was asked of it."""
        session, model = self.sent.identity[:2]
        version, told = self.sent.request.model_version, reply.model_version
        if self.sent.profile.server.configurations:
            # Triton numbers its versions; perhaps another server listens there since.
            if not told.isdigit() and model.reloaded(session.backend, self.sent.profile):
                self._check_request()
        elif version >= 0 and told not in ("", str(version)):
            raise ServerFault(
                f"model '{model.name}' was asked for in version {version}, and answered in "
                f"version {told}: the server does not obey versions; leave the version out",
                "UNIMPLEMENTED",
            )

    def _check_request(self) -> None:
        """Raise Refusal if the server that listens by now would misunderstand the request."""
        profile = self.sent.identity.model.profile
        if profile is not None:
            check_capabilities(profile, self.sent.request)


#: What can be read.
Answer = Union[Refused, Answered]
