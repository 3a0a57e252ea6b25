"""One inference on its way: v1 request → v2 call → what came of it → v1 reply.

This is the path of every front: contexts, the raw stub and the gateway, synchronous, asynchronous
and streaming. A front says how its request is made, sends the call in its way, and makes results
or messages of the reply.
"""

from __future__ import annotations

from typing import Callable

from tritonclient_shim.backends.base import CallHeaders, Outcome
from tritonclient_shim.core.errors import (
    Fault,
    ForeignFault,
    InferenceServerException,
    Refusal,
    ServerFault,
)
from tritonclient_shim.core.model import (
    InferCall,
    InferReply,
    ModelProfile,
    V1Reply,
    V1Request,
)
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

#: How a front sends a call and waits for its reply. Raises Fault.
Send = Callable[[InferCall], InferReply]

#: How a front makes its request for a model; Fault for what v1's server refused.
MakeRequest = Callable[[ModelProfile], V1Request]


class Exchange:
    """One inference.

    ``request_id`` is the server-side id, which v1's server gave each request; ``client_id`` is
    the id in the request's header, 0 for none, which the answer repeats
    (docs/v1-behaviour.md §4.5).
    """

    __slots__ = (
        *("model", "request_id", "client_id", "headers"),
        *("_session", "_version", "_make", "_profile", "_request", "_bound", "_prepared", "_known"),
    )

    def __init__(
        self,
        session: ServerSession,
        model: KnownModel,
        version: int,
        request_id: int,
        client_id: int,
        make: MakeRequest,
        bound: BoundRequest | None = None,
    ) -> None:
        self.model = model
        self.request_id = request_id
        self.client_id = client_id
        #: What goes with the call beside the request: headers, or metadata.
        self.headers: CallHeaders = ()
        self._session = session
        self._version = version
        self._make: MakeRequest | None = make
        self._profile: ModelProfile | None = None
        self._request: V1Request | None = None
        self._bound = bound
        self._prepared: PreparedRequest | None = None
        self._known: V1Reply | None = None

    def call(self) -> InferCall:
        """The v2 call to send. Raises Fault, a refusal of v1's server as ServerFault.

        May ask the server for the model's configuration.
        """
        backend = self._session.backend
        profile = self._profile = self.model.read(backend)
        bound, self._bound = self._bound, None
        self._prepared = None
        try:
            if bound is not None and bound.prepared.profile is profile:
                if profile.server is not None:
                    check_capabilities(profile, bound.request)
                self._prepared, self._request = bound.prepared, bound.request
                return bound.call
            return self._call_for(profile, backend.endpoint.protocol)
        except Refusal:
            if profile.server is None:
                self._check_version()
            # A profile that was read from a confused server, or has changed since, refuses
            # requests that the model takes: it is read once more, at the cost of one request.
            if not self.model.reloaded(backend, profile):
                raise
        profile = self._profile = self.model.read(backend)
        return self._call_for(profile, backend.endpoint.protocol)

    def prompt_call(self) -> InferCall | None:
        """The same without asking the server anything; None if it may have to be asked."""
        if self.model.profile is None:
            return None
        profile = self._profile = self.model.present(self._session.backend)
        if profile is None:
            return None
        try:
            return self._call_for(profile, self._session.endpoint.protocol)
        except ServerFault:  # before it is told, the server is asked for the version
            return None

    def _call_for(self, profile: ModelProfile, protocol: str) -> InferCall:
        if profile.decoupled:
            raise Refusal(_DECOUPLED, "UNIMPLEMENTED")
        assert self._make is not None
        request = self._make(profile)
        call = to_v2.infer_call(profile, request, protocol)
        self._request = request
        return call._replace(headers=self.headers) if self.headers else call

    def stream_call(self) -> InferCall:
        """The same, to be sent on a stream; a refusal also where the server has none."""
        call = self.call()
        self.check_stream()
        return call

    def check_stream(self) -> None:
        """After the call was made: Refusal where the server has no streams."""
        if self._profile is not None:
            check_context(self._profile, -1, 0, streaming=True)

    def _check_version(self) -> None:
        """v1's server looked for the version first; Fault when there is none of this number."""
        backend = self._session.backend
        version = to_v2.version(self.model.name, self._version, backend.endpoint.protocol)
        if version:
            backend.model_config(self.model.name, version)

    def send(self, send: Send) -> Outcome:
        """Make the call and send it."""
        try:
            return send(self.call())
        except Fault as fault:
            return fault

    def release_inputs(self) -> None:
        """Keep the input data no longer, unless labels may have to be asked for with them.

        For asynchronous requests, whose arrays may be large, and others by the time of the answer.
        """
        made = self._request
        if made is not None and made.inputs and not any(item.class_count for item in made.outputs):
            self._request = made._replace(inputs=())
        self._make = None

    def checked(self, outcome: Outcome) -> Outcome:
        """An outcome, or how v1's server would have refused such a reply; asks nobody."""
        if isinstance(outcome, Fault) or self._profile is None or self._request is None:
            return outcome
        if self._prepared is not None:
            self._known = self._prepared.v1_reply(outcome, self.client_id)
            if self._known is not None:
                return outcome
        return to_v1.refusal(self._profile, self._request, outcome) or outcome

    def is_prompt(self, outcome: Outcome) -> bool:
        """Can the outcome be read without asking the server anything?"""
        if isinstance(outcome, Fault) or self._profile is None or self._request is None:
            return False
        classified = any(item.class_count for item in self._request.outputs)
        return not classified and to_v1.fits(self._profile, outcome)

    def reply(self, outcome: Outcome, again: Send) -> V1Reply:
        """What came of the call → the reply. Raises Fault when the request was refused.

        A request that was refused because the model has been reloaded is sent once more with
        ``again``, unless its inputs have been released or it is one of a sequence.
        """
        try:
            return self._read(self._worded(outcome))
        except Refusal:  # the configuration has been read again before
            raise
        except (ServerFault, ForeignFault) as fault:
            if not self._reloaded(fault):
                raise
            if self._make is None or self.stateful:
                self._check_request()
                raise
        return self._read(self._worded(self.send(again)))

    def _worded(self, outcome: Outcome) -> Outcome:
        """An outcome; what the HTTP framework of a server that is not Triton refuses, as such."""
        known = self._profile is not None and self._profile.server is not None
        if known and isinstance(outcome, ForeignFault) and outcome.refusal:
            refused = ServerFault(outcome.refusal, "INVALID_ARGUMENT")
            refused.__cause__ = outcome
            return refused
        return outcome

    def _reloaded(self, fault: ServerFault | ForeignFault) -> bool:
        if self._profile is None:
            return False
        if isinstance(fault, ForeignFault) and not fault.refusal:  # it has answered, if oddly
            return False
        if isinstance(fault, ServerFault) and fault.code in _BUSY:
            return False
        return self.model.reloaded(self._session.backend, self._profile)

    def _read(self, outcome: Outcome) -> V1Reply:
        if isinstance(outcome, Fault):
            raise outcome
        assert self._profile is not None
        assert self._request is not None
        prepared = self._prepared
        known = self._known or (prepared and prepared.v1_reply(outcome, self.client_id))
        if known:
            return known
        backend = self._session.backend
        if self._profile.server is not None or self.stateful:
            self._check_server(outcome)
        reply = self.model.v1_reply(backend, self._profile, self._request, outcome)
        if prepared is not None:
            prepared.learn(outcome, reply)
        return reply

    def _check_server(self, reply: InferReply) -> None:
        """Raise ServerFault for a reply of a server that has not done what was asked of it."""
        assert self._profile is not None
        assert self._request is not None
        version, told = self._request.model_version, reply.model_version
        if self._profile.server is None:
            # Triton numbers its versions; perhaps another server listens there since.
            if not told.isdigit() and self.model.reloaded(self._session.backend, self._profile):
                self._check_request()
        elif version >= 0 and told not in ("", str(version)):
            raise ServerFault(
                f"model '{self.model.name}' was asked for in version {version}, and answered in "
                f"version {told}: the server does not obey versions; leave the version out",
                "UNIMPLEMENTED",
            )

    def _check_request(self) -> None:
        """Refusal if the server that listens by now would misunderstand the request."""
        if self.model.profile is not None and self._request is not None:
            check_capabilities(self.model.profile, self._request)

    @property
    def stateful(self) -> bool:
        """Must this request keep its place among others, and never be sent twice?"""
        if self._profile is None or self._request is None:
            return False
        return to_v2.stateful(self._profile, self._request)

    def error(self, fault: Fault) -> InferenceServerException:
        """What went wrong → the error to raise from it, in v1's words."""
        # What was refused before the call was made is in v1's words already.
        known = self._profile if self._request is not None else None
        asked = RequestContext(
            self.model.name, str(self._version), known is not None and known.batching
        )
        return self._session.fault_to_error(fault, self.request_id, _NO_STATUS, asked)
