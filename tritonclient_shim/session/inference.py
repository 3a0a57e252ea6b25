"""One inference, for every front: contexts, the raw stub and the gateway, however they wait.

::

    Inference ── prepare ──► Sendable ── send ──► Answer ── reply ──► V1Reply

Each state is a record with what the next one needs. A front says how its request is made, sends
the call in its own way, and makes results or messages of the reply. An inference that was refused
before it was sent has an answer too: :class:`Refused`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Callable, Mapping, NamedTuple, Union

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
    ModelProfile,
    OutputSpec,
    V1Input,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.server_sentences import Meaning, says
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.plan import Plan, Reading
from tritonclient_shim.session.reloads import CONSEQUENCES, Doubt, doubt_of
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import to_v1, to_v2
from tritonclient_shim.translate.open_servers import check_context, check_request
from tritonclient_shim.translate.to_v1 import RequestContext

_NO_STATUS = "infer request did not return status"
_DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy"

#: Stands for a call whose inputs were dropped when it had been sent.
_SENT = InferCall("", "", (), ())

#: Sends a call and waits for its reply. Raises BackendError.
Send = Callable[[InferCall], InferReply]

#: Makes the request for a model. Raises BackendError for what v1's server refused.
MakeRequest = Callable[[ModelProfile], V1Request]


class Inference(NamedTuple):
    """A request for a model, before the model's configuration is looked at.

    ``request_id`` is the server-side id, which v1's server gave each request. ``client_id`` is the
    id in the request's header, 0 for none, which the reply repeats (docs/v1-behaviour.md §4.5).
    ``plan`` is the plan of a context's request, which was made from ``started_ns`` to ``sent_ns``.
    """

    session: ServerSession
    model: KnownModel
    version: int
    request_id: int
    client_id: int
    make: MakeRequest
    plan: Plan | None = None
    started_ns: int = 0
    sent_ns: int = 0

    def prepare(self, streaming: bool = False) -> Sendable:
        """Return what can be sent. Raises BackendError; a refusal of v1's server is a ServerError.

        May ask the server for the model's configuration. ``streaming`` also refuses a request for
        a server without streams.
        """
        backend = self.session.backend
        profile = self.model.present(backend) or self.model.read(backend)
        try:
            return self._sendable(profile, streaming)
        except InvalidRequest:
            if profile.server.configurations:  # v1's server looked for the version first
                name, protocol = self.model.name, self.session.endpoint.protocol
                version = to_v2.version(name, self.version, protocol)
                if version:
                    self.model.check_version(backend, version)
            # The profile may be outdated, or of a confused server: read it once more.
            if not self.model.reloaded(self.session, profile, Doubt.REFUSED_HERE):
                raise
        return self._sendable(self.model.read(backend), streaming)

    def prepare_promptly(self, streaming: bool = False) -> Sendable | None:
        """Return what can be sent without asking the server; None if it may have to be asked."""
        profile = self.model.present(self.session.backend)
        with suppress(ServerError):  # the configuration is read again before it is raised
            return self._sendable(profile, streaming) if profile else None
        return None

    def _sendable(self, profile: ModelProfile, streaming: bool) -> Sendable:
        if profile.decoupled:
            raise InvalidRequest(_DECOUPLED, "UNIMPLEMENTED")
        request = self.make(profile)
        protocol = self.session.endpoint.protocol
        if self.plan is None:
            call = to_v2.infer_call(profile, request, protocol)
        else:
            call = self.plan.call(profile, request, protocol)
        if streaming:
            check_context(profile, -1, 0, streaming=True)
        return Sendable(self, profile, request, call)

    def run(self, send: Send) -> Answer:
        """Prepare the request and send it."""
        try:
            sendable = self.prepare()
        except BackendError as error:
            return Refused(self, error)
        return sendable.send(send)

    def error(self, error: BackendError) -> InferenceServerException:
        """Return the error to raise from an error, in v1's words."""
        profile = self.model.profile
        batching = profile is not None and profile.batching
        asked = RequestContext(self.model.name, str(self.version), batching)
        return self.session.to_v1_error(error, self.request_id, _NO_STATUS, asked)


class Sendable(NamedTuple):
    """A request with the v2 call that carries it; ``profile`` is the model that it is made for."""

    inference: Inference
    profile: ModelProfile
    request: V1Request
    call: InferCall

    def send(self, send: Send) -> Answered:
        """Send the call and wait for its outcome."""
        try:
            return Answered(self, send(self.call))
        except BackendError as error:
            return Answered(self, error)

    def read(self, outcome: Outcome) -> Reading | None:
        """Return what the plan of a context's request reads of an outcome; None without one."""
        plan = self.inference.plan
        if plan is None or plan.profile is not self.profile:
            return None
        return plan.read(outcome)

    def with_id(self, wire_id: str) -> Sendable:
        """Return it under another id on the wire."""
        return self._replace(call=self.call._replace(request_id=wire_id))

    def within_regions(self) -> Sendable | None:
        """Return it with outputs that end with their regions.

        Return None if they all do already, or if the server does not list its regions in time.
        """
        inference = self.inference
        try:
            regions = inference.model.ask_in_time("regions", inference.session.backend.shm_status)
        except (BackendError, RuntimeError, TimeoutError):
            return None
        sizes = {region.name: region.byte_size for region in regions}
        outputs = tuple([_within_region(output, sizes) for output in self.call.outputs])
        if outputs == self.call.outputs:
            return None
        return self._replace(call=self.call._replace(outputs=outputs))

    def without_inputs(self) -> Sendable:
        """Return it without the input arrays. Keep a copy of the first entry if it may need labels.

        For asynchronous requests: their arrays may be large, and the caller may reuse them.
        Inputs in shared memory are no data.
        """
        if not [item for item in self.request.inputs if item.chunks]:
            return self
        inputs: tuple[V1Input, ...] = ()
        if self.classified and not self.stateful:
            inputs = to_v2.first_entry(self.profile, self.request) or to_v2.copied(self.request)
        request = self.request._replace(inputs=inputs)
        inference = self.inference._replace(make=_sent_once)
        return Sendable(inference, self.profile, request, _SENT)

    @property
    def classified(self) -> bool:
        """True if the best classes of any output are wanted."""
        return bool([output for output in self.request.outputs if output.form.class_count])

    @property
    def stateful(self) -> bool:
        """True if the request must keep its place among others, and never be sent twice."""
        return to_v2.stateful(self.profile, self.request)


def _within_region(output: OutputSpec, sizes: Mapping[str, int]) -> OutputSpec:
    """Return the output, which ends with its region if it ended behind it."""
    shm = output.shm
    if shm is None or shm.region not in sizes:
        return output
    left = sizes[shm.region] - shm.offset
    if not 0 < left < shm.byte_size:
        return output
    return output._replace(shm=shm._replace(byte_size=left))


def _sent_once(_: ModelProfile) -> V1Request:
    raise InvalidRequest("a request whose inputs were dropped cannot be made again", "INTERNAL")


class Refused(NamedTuple):
    """The answer to an inference that was refused, or failed, before it was sent."""

    inference: Inference
    error: BackendError

    def reply(self, again: Send) -> V1Reply:
        """Raise the refusal as InferenceServerException."""
        try:
            raise self.error
        except BackendError as error:
            raise self.inference.error(error) from shown_cause(error)


class Answered(NamedTuple):
    """A request that was sent, and its outcome.

    ``reading`` is what its plan has read of the outcome, if it has been asked.
    """

    sent: Sendable
    outcome: Outcome
    reading: Reading | None = None

    @property
    def inference(self) -> Inference:
        """Return the inference."""
        return self.sent.inference

    def is_prompt(self) -> bool:
        """True if the outcome can be read without asking the server anything."""
        if isinstance(self.outcome, BackendError) or self.sent.classified:
            return False
        return to_v1.fits(self.sent.profile, self.outcome)

    def reply(self, again: Send) -> V1Reply:
        """Return the reply. Raises InferenceServerException when the request was refused.

        A request that was refused because the model has been reloaded is sent once more with
        ``again``, unless it must not be sent twice.
        """
        try:
            try:
                return self._read()
            except BackendError as error:
                smaller = self._within_regions(error)
                if smaller is not None:
                    return smaller.send(again)._read()
                if not self._may_repeat(error):
                    raise
            return self.inference.prepare().send(again)._read()
        except BackendError as error:
            raise self.inference.error(error) from shown_cause(error)

    def _read(self) -> V1Reply:
        """Return the reply. Raises BackendError."""
        sent = self.sent
        outcome = self.outcome
        described = sent.profile.server.configurations
        if isinstance(outcome, ForeignError) and outcome.refusal and not described:
            # an HTTP framework, of a server that is not Triton
            raise ServerError(outcome.refusal) from outcome
        if isinstance(outcome, BackendError):
            raise outcome
        if not described:
            self._check_version(outcome)
        elif sent.stateful:
            self._check_server(outcome)
        inference = sent.inference
        return inference.model.v1_reply(inference.session, sent.profile, sent.request, outcome)

    def _within_regions(self, error: BackendError) -> Sendable | None:
        """Return the request with smaller outputs, if one of them ended behind its region.

        v1's server only refused a result that did not fit (docs/v1-behaviour.md §4.3). Triton
        refuses the request before it runs.
        """
        sent = self.sent
        if not isinstance(error, ServerError) or sent.call is _SENT or sent.stateful:
            return None
        if not says(error.message, Meaning.BEYOND_REGION):
            return None
        return sent.within_regions()

    def _may_repeat(self, error: BackendError) -> bool:
        """True if the model was reloaded, so the request may be sent again. Raise BackendError."""
        doubt = doubt_of(error)
        if not self.reloaded(doubt) or not CONSEQUENCES[doubt].sends_again:
            return False
        sent = self.sent
        if sent.call is _SENT or sent.stateful:
            self._check_request()
            return False
        return True

    def reloaded(self, doubt: Doubt) -> bool:
        """Read the configuration again if the doubt asks for it. True if it has changed."""
        inference = self.sent.inference
        return inference.model.reloaded(inference.session, self.sent.profile, doubt)

    def _check_server(self, reply: InferReply) -> None:
        """Raise InvalidRequest if another server has answered, which misunderstands the request."""
        # Triton numbers its versions: another server may have replaced it.
        if to_v1.version_number(reply.model_version) >= 0:
            return
        if self.reloaded(Doubt.OTHER_SERVER):
            self._check_request()

    def _check_version(self, reply: InferReply) -> None:
        """Raise ServerError for a reply of another version than the one that was asked for."""
        asked = self.sent.request.model_version
        answered = reply.model_version
        if asked >= 0 and answered not in ("", str(asked)):
            raise ServerError(
                f"model '{self.sent.inference.model.name}' was asked for in version {asked}, and "
                f"answered in version {answered}: the server does not obey versions; leave the "
                "version out",
                "UNIMPLEMENTED",
            )

    def _check_request(self) -> None:
        """Raise InvalidRequest if the server that listens now would misunderstand the request."""
        profile = self.sent.inference.model.profile
        if profile is not None:
            check_request(profile, self.sent.request)


#: What can be read.
Answer = Union[Refused, Answered]
