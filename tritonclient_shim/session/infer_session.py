"""One InferContext's session: legacy arguments in, replies out, synchronously or not."""

from __future__ import annotations

import sys
from functools import partial
from time import perf_counter_ns
from typing import cast

from tritonclient_shim.backends.base import Outcome, StreamingBackend
from tritonclient_shim.core.daemon_executor import within
from tritonclient_shim.core.errors import Fault, InferenceServerException, ServerFault, shown_cause
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import (
    GRPC,
    HTTP,
    Endpoint,
    InferCall,
    InferReply,
    ModelProfile,
    V1Request,
)
from tritonclient_shim.core.reading import outcome_of
from tritonclient_shim.core.server_sentences import Meaning, says
from tritonclient_shim.session.in_flight import Callback, InFlight
from tritonclient_shim.session.inference import (
    Answer,
    Identity,
    Inference,
    MakeRequest,
    Refused,
    Sendable,
)
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.prepared import BoundRequest, Preparation
from tritonclient_shim.session.requests import (
    CompletedRequest,
    PendingRequest,
    client_error_of,
    look_up,
)
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.session.statistics import ContextStat
from tritonclient_shim.session.streams import ContextStream
from tritonclient_shim.shm.region import RegionError
from tritonclient_shim.translate import request, undeclared
from tritonclient_shim.translate.headers import Headers
from tritonclient_shim.translate.request import RunArguments

#: Seconds for which a refusal of this side waits while the model's configuration is read again.
ASKED_AGAIN_WITHIN = 5.0

_NO_STATUS = "status request did not return status"


class InferSession(ServerSession):
    """The server side of one InferContext. Any method may be called from any thread."""

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Headers,
        model_name: str,
        model_version: int,
        correlation_id: int,
        streaming: bool,
        verbose: bool = False,
    ) -> None:
        super().__init__(endpoint, headers, verbose)
        self.model_version = model_version
        self.correlation_id = correlation_id
        self.stat = ContextStat()
        self._model = KnownModel(model_name, declared=self.settings.declared(model_name))
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._requests: InFlight[PendingRequest] = InFlight()
        self._stream: ContextStream | None = None
        self._preparation = Preparation()
        try:
            self._connect(streaming)
        except BaseException:
            self.close(wait=False)
            raise

    def _connect(self, streaming: bool) -> None:
        """Open the stream, then read the model's configuration, as v1's constructor did."""
        request_id = next_request_id()
        with self.guard(request_id, _NO_STATUS):
            if streaming:
                backend = cast(StreamingBackend, self.backend)
                self._stream = ContextStream(backend, partial(self._model.check_stream, backend))
            self._find_model(request_id)
            self._model.check_context(
                self.backend, self.model_version, self.correlation_id, streaming
            )
        profile = self._model.profile
        if streaming and profile and profile.decoupled:
            raise self.client_error(
                f"model '{profile.name}' is decoupled: it answers a request with any number "
                "of responses, which this API cannot express; use tritonclient.grpc's streams"
            )

    def _find_model(self, request_id: int) -> None:
        """Read the model's configuration, unless it is known but has no version loaded.

        v1 kept the configuration of an unloaded model: its contexts could be made, and
        failed at the first request (docs/v1-behaviour.md §3.4).
        """
        name = self._model.name
        if not name:
            self.backend.server_metadata()
            raise self.client_error('unable to find status information for ""')
        try:
            self._model.read(self.backend)
        except ServerFault as fault:
            if fault.code != "NOT_FOUND":
                raise
            if says(fault.message, Meaning.NOT_LOADED):
                return
            unknown = f"no status available for unknown model '{name}'"
            raise self.server_error(unknown, request_id, fault.status) from shown_cause(fault)

    def _profile(self) -> ModelProfile:
        """The profile of a model that was not loaded when it was last asked for."""
        with self.guard(next_request_id(), _NO_STATUS):
            return self._model.read(self.backend)

    # ------------------------------------------------------------------------- requests

    def run(self, arguments: RunArguments) -> CompletedRequest:
        """Run one inference and return its answer. Raises InferenceServerException."""
        request, inference = self._begin(arguments, numbered=self._stream is not None)
        answer = inference.run(self._send_now)
        return self._read(request, answer, perf_counter_ns())

    def start(self, callback: Callback | None, arguments: RunArguments) -> int:
        """Send a request and return its client id; validation errors are raised here
        (docs/v1-behaviour.md §5).
        """
        request, inference = self._begin(arguments, numbered=True)
        client_id = inference.identity.client_id
        try:
            sendable = inference.prepare()
        except Fault as refused:  # v1's server refused it: the fetch raises that
            self._requests.add(client_id, request, callback)
            self._requests.complete(client_id, refused)
            return client_id
        done = partial(self._completed, request, sendable.without_inputs())
        self._requests.add(client_id, request, callback)
        try:
            if self._stream is not None:
                self._stream.send(sendable.call, done)
            else:
                self.backend.infer_async(sendable.call, done)
        except Fault as fault:
            self._requests.forget(client_id)
            raise sendable.error(fault) from shown_cause(fault)
        except BaseException:  # such as a plugin's own: nothing was sent
            self._requests.forget(client_id)
            raise
        return client_id

    def fetch(self, client_id: int, wait: bool | None) -> CompletedRequest | None:
        """Return the answer of an asynchronous request, once; see :meth:`InFlight.take`."""
        taken = self._requests.take(client_id, wait)
        if taken is None:
            return None
        request, answer = taken.context, taken.outcome
        if isinstance(answer, Fault):  # it was refused, or this process has been forked
            answer = Refused(request.identity, answer)
        counts = self.endpoint.protocol == GRPC
        completed = self._read(request, answer, perf_counter_ns(), counts)
        return completed._replace(client_id=client_id)

    def ready(self, wait: bool) -> int | None:
        """Return the id of a completed request without callback; see :meth:`InFlight.ready`."""
        return self._requests.ready(wait)

    def close(self, wait: bool = True) -> None:
        """Drop what is outstanding, as v1 did (docs/v1-behaviour.md §5); idempotent.

        Without ``wait`` it returns at once; the server still gets all that a stream was given.
        """
        unary_grpc = self.endpoint.protocol == GRPC and self._stream is None
        try:
            self._requests.close(wait_for_next=wait and unary_grpc)
            if self._stream is not None:
                self._stream.close(wait)
        finally:  # a signal's handler may end the waits
            super().close()

    # ------------------------------------------------------------------- from the arguments

    def _begin(self, arguments: RunArguments, numbered: bool) -> tuple[PendingRequest, Inference]:
        """Check the arguments in v1's order; a new correlation id sticks
        (docs/v1-behaviour.md §3.2, §3.9).

        InferenceServerException for what v1's client refused.
        """
        started = perf_counter_ns()
        profile = self._model.profile or self._profile()
        make: MakeRequest
        bound = self._bound(profile, arguments, numbered)
        if bound is not None:
            options, client_id = bound.prepared.options, bound.request.id
            make = bound.complete
        else:
            options, v1_request = self._checked(profile, arguments, numbered)
            client_id = v1_request.id
            make = lambda _: v1_request  # noqa: E731 - it is passed on
        number = next_request_id()
        identity = Identity(self, self._model, self.model_version, number, client_id)
        request = PendingRequest(identity, options, started, perf_counter_ns() - started)
        return request, Inference(identity, make, bound)

    def _changed_since(self, known: ModelProfile) -> ModelProfile | None:
        """Read the configuration that a refusal followed from once more; None if it was right.

        v1's client refused at once, and did so while its server was gone, too.
        """
        if sys.is_finalizing():  # no thread runs any more
            return None
        try:
            ask = partial(self._model.reloaded, self.backend, known)
            return self._model.profile if within(ASKED_AGAIN_WITHIN, ask) else None
        except (Fault, RuntimeError, TimeoutError):  # no connection, no thread, or no answer
            return None

    def _checked(
        self, profile: ModelProfile, arguments: RunArguments, numbered: bool
    ) -> tuple[request.Options, V1Request]:
        """Make the request the long way, anew if it was refused by an outdated configuration."""
        try:
            return self._v1_request(profile, arguments, numbered)
        except InferenceServerException:
            changed = self._changed_since(profile)
            if changed is None:
                raise
        return self._v1_request(changed, arguments, numbered)

    def _bound(
        self, profile: ModelProfile, arguments: RunArguments, numbered: bool
    ) -> BoundRequest | None:
        """Bind the arguments to the prepared request; None when they differ in more than data."""
        match = self._preparation.find(profile, arguments)
        if match is None:
            return None
        prepared, data = match
        numbers = request.numbers(arguments)
        correlation_id = self._correlation_id(profile, numbers.correlation_id)
        self._shapes.update(prepared.shapes)
        client_id = self._requests.next_id() if numbered else 0
        return prepared.bind(data, numbers, correlation_id, client_id)

    def _v1_request(
        self, profile: ModelProfile, arguments: RunArguments, numbered: bool
    ) -> tuple[request.Options, V1Request]:
        """Make the request the long way, and prepare it for the next one."""
        whole = undeclared.completed(profile, arguments)
        options = request.parse_options(whole, arguments, look_up)
        correlation_id = self._correlation_id(profile, options.numbers.correlation_id)
        try:
            tensors = request.bind_inputs(whole, options, arguments, self._shapes, look_up)
        except RegionError as error:
            raise client_error_of(error) from shown_cause(error)
        client_id = self._requests.next_id() if numbered else 0
        made = request.build(options, tensors, self.model_version, correlation_id, client_id)
        if whole is not profile:
            return options, undeclared.with_types(whole, made)
        self._preparation.consider(profile, options, arguments, made, self.endpoint.protocol)
        return options, made

    def _correlation_id(self, profile: ModelProfile, given: int) -> int:
        """Return a request's id; those after it have it, too, where the server has sequences."""
        if given and profile.server.sequences:
            self.correlation_id = given
        return given or self.correlation_id

    # ------------------------------------------------------------------------ to the answer

    def _send_now(self, call: InferCall) -> InferReply:
        return self._stream.infer(call) if self._stream else self.backend.infer(call)

    def _completed(self, request: PendingRequest, sent: Sendable, outcome: Outcome) -> None:
        """Complete an asynchronous request, whatever it was sent through: see :data:`Done`."""
        answer = sent.answered(outcome)
        # docs/v1-behaviour.md §4.6: over HTTP an asynchronous request counts when it completes.
        if self.endpoint.protocol == HTTP:
            answer = sent.answered(outcome_of(answer.checked))
            if not isinstance(answer.outcome, Fault):
                self.stat.add(request.started_ns, request.sent_ns, None)
        self._requests.complete(sent.identity.client_id, answer)

    def _read(
        self, request: PendingRequest, answer: Answer, received: int, counts: bool = True
    ) -> CompletedRequest:
        try:
            reply = answer.reply(self._send_now)
        except InferenceServerException:
            # docs/v1-behaviour.md §4.6: a refusal over HTTP has no body and is not counted.
            if counts and self.endpoint.protocol == GRPC:
                self.stat.add(request.started_ns, request.sent_ns, received)
            raise
        if counts:
            self.stat.add(request.started_ns, request.sent_ns, received)
        return CompletedRequest(request.identity.request_id, request.options, reply)
