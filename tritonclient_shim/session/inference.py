"""One InferContext's session: legacy arguments in, answers out, synchronously or not."""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns
from typing import Any, Mapping, cast

from tritonclient_shim.backends.base import Outcome, StreamingBackend
from tritonclient_shim.core.errors import Fault, Refusal, ServerFault
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import (
    GRPC,
    HTTP,
    Endpoint,
    InferCall,
    InferReply,
    ModelProfile,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.reading import outcome_of, read
from tritonclient_shim.core.server_sentences import Meaning, says
from tritonclient_shim.session.in_flight import Callback, InFlight
from tritonclient_shim.session.labels import LabelBook
from tritonclient_shim.session.requests import Answer, Sent, client_error_of, look_up
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.session.statistics import ContextStat
from tritonclient_shim.session.streams import ContextStream
from tritonclient_shim.shm.region import RegionError
from tritonclient_shim.translate import arguments, config, plans, request, to_v1, to_v2
from tritonclient_shim.translate.headers import Headers
from tritonclient_shim.translate.wording import RequestContext

_NO_STATUS = "infer request did not return status"


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
        self.model_name = model_name
        self.model_version = model_version
        self.correlation_id = correlation_id
        self.stat = ContextStat()
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._requests: InFlight[Sent] = InFlight()
        self._labels = LabelBook()
        self._plans = plans.Plans()
        self._stream: ContextStream | None = None
        self._profile: ModelProfile | None = None
        try:
            self._connect(streaming)
        except BaseException:
            self.close(wait=False)
            raise

    def _connect(self, streaming: bool) -> None:
        """Open the stream, then read the model's configuration, as v1's constructor did."""
        request_id = next_request_id()
        with self.guard(request_id, "status request did not return status"):
            if streaming:
                self._stream = ContextStream(cast(StreamingBackend, self.backend))
            self._profile = self._read_profile(request_id)
        if streaming and self._profile and self._profile.decoupled:
            raise self.client_error(
                f"model '{self.model_name}' is decoupled: it answers a request with any number "
                "of responses, which this API cannot express; use tritonclient.grpc's streams"
            )

    def _read_profile(self, request_id: int) -> ModelProfile | None:
        """The model's profile; None for a model that is known but has no version loaded.

        v1 kept the configuration of an unloaded model: its contexts could be made, and
        failed at the first request (docs/v1-behaviour.md §3.4).
        """
        if not self.model_name:
            self.backend.server_metadata()
            raise self.client_error('unable to find status information for ""')
        try:
            document = self.backend.model_config(self.model_name)
        except ServerFault as fault:
            if fault.code == "NOT_FOUND" and says(fault.message, Meaning.NOT_LOADED):
                return None
            if fault.code == "NOT_FOUND":
                raise self.server_error(
                    f"no status available for unknown model '{self.model_name}'",
                    request_id,
                    fault.status,
                ) from fault
            raise
        return read(config.to_profile, self.model_name, document)

    def profile(self) -> ModelProfile:
        """The model's profile, read once; read again while the model was not loaded."""
        if self._profile is None:
            request_id = next_request_id()
            with self.guard(request_id, "status request did not return status"):
                document = self.backend.model_config(self.model_name)
                self._profile = read(config.to_profile, self.model_name, document)
        return self._profile

    # ------------------------------------------------------------------------- requests

    def run(self, inputs: Mapping[Any, Any], outputs: Mapping[Any, Any], scalars: Any) -> Answer:
        """One inference, answered when this returns; InferenceServerException otherwise.

        ``scalars`` are batch_size, flags, corr_id, priority and timeout_us as given.
        """
        sent, call = self._prepare(inputs, outputs, scalars, numbered=self._stream is not None)
        return self._read(sent, self._outcome(call), perf_counter_ns())

    def _outcome(self, call: InferCall | Fault) -> Outcome:
        if isinstance(call, Fault):
            return call
        infer = self._stream.infer if self._stream else self.backend.infer
        try:
            return infer(call)
        except Fault as fault:
            return fault

    def start(
        self,
        callback: Callback | None,
        inputs: Mapping[Any, Any],
        outputs: Mapping[Any, Any],
        scalars: Any,
    ) -> int:
        """Send a request and return its client id; validation errors are raised here
        (docs/v1-behaviour.md §5).
        """
        sent, call = self._prepare(inputs, outputs, scalars, numbered=True)
        client_id, kept = sent.client_id, sent.kept()
        self._requests.add(client_id, kept, callback)
        done = partial(self._completed, client_id, kept)
        if isinstance(call, Fault):  # v1's server refused it: the fetch tells
            done(call)
            return client_id
        try:
            self._send(call, done)
        except Fault as fault:
            self._requests.forget(client_id)
            raise self._error(fault, sent.request_id) from fault
        except BaseException:  # such as a plugin's own: nothing was sent
            self._requests.forget(client_id)
            raise
        return client_id

    def fetch(self, client_id: int, wait: bool | None) -> Answer | None:
        """The answer of an asynchronous request, once; see :meth:`InFlight.take`."""
        entry = self._requests.take(client_id, wait)
        if entry is None:
            return None
        counts = self.endpoint.protocol == GRPC
        return self._read(entry.context, entry.outcome, perf_counter_ns(), counts, client_id)

    def ready(self, wait: bool) -> int | None:
        """Id of a completed request without callback; see :meth:`InFlight.ready`."""
        return self._requests.ready(wait)

    def close(self, wait: bool = True) -> None:
        """Drop what is outstanding, as v1 did (docs/v1-behaviour.md §5); idempotent.

        Without ``wait`` it returns at once; the server still gets all that a stream was given.
        """
        unary_grpc = self.endpoint.protocol == GRPC and self._stream is None
        self._requests.close(wait_for_next=wait and unary_grpc)
        if self._stream is not None:
            self._stream.close(wait)
        super().close()

    # ---------------------------------------------------------------------------- steps

    def _prepare(
        self, inputs: Mapping[Any, Any], outputs: Mapping[Any, Any], scalars: Any, numbered: bool
    ) -> tuple[Sent, InferCall | Fault]:
        """The arguments → a request, and the call to send or how v1's server refuses it.

        InferenceServerException for what v1's client refused.
        """
        started = perf_counter_ns()
        key, found = self._plans.find(inputs, outputs, scalars[0])
        if found is None:
            return self._by_the_long_way(inputs, outputs, scalars, numbered, key)
        numbers = arguments.numbers(*scalars[1:])
        correlation_id = self._correlation(numbers[1])
        if not found[0].holds(correlation_id, numbers[0]):
            return self._by_the_long_way(inputs, outputs, scalars, numbered, key)
        self._shapes.update(found[0].shapes)
        client_id = self._requests.next_id() if numbered else 0
        call = plans.call_of(*found, numbers, correlation_id, client_id)
        options, made = found[0].options, plans.request_of(*found)
        sent_ns = perf_counter_ns() - started
        return Sent(options, made, next_request_id(), client_id, started, sent_ns), call

    def _by_the_long_way(
        self,
        inputs: Mapping[Any, Any],
        outputs: Mapping[Any, Any],
        scalars: Any,
        numbered: bool,
        key: Any,
    ) -> tuple[Sent, InferCall | Fault]:
        """Check the arguments in v1's order; a new correlation id sticks
        (docs/v1-behaviour.md §3.2, §3.9).
        """
        started = perf_counter_ns()
        profile = self.profile()
        options = request.parse_options(profile, inputs, outputs, scalars, look_up)
        correlation_id = self._correlation(options.correlation_id)
        try:
            bound = request.bind_inputs(profile, options, inputs, self._shapes, look_up)
        except RegionError as error:
            raise client_error_of(error) from error
        client_id = self._requests.next_id() if numbered else 0
        made = request.build(options, bound, self.model_version, correlation_id, client_id)
        number, sent_ns = next_request_id(), perf_counter_ns() - started
        sent = Sent(options, made, number, client_id, started, sent_ns)
        try:
            call = self._lower(made)
        except Fault as fault:
            return sent, fault
        if key is not None:
            self._plans.keep(key, plans.plan_for(profile, inputs, options, made, call))
        return sent, call

    def _correlation(self, given: int) -> int:
        """The context's correlation id, after a request that was given this one."""
        if given:
            self.correlation_id = given
        return given or self.correlation_id

    def _lower(self, made: V1Request) -> InferCall:
        try:
            return to_v2.infer_call(self.profile(), made, self.endpoint.protocol)
        except Refusal:  # v1's server looked for the version first
            if made.model_version >= 0:
                self.backend.model_config(self.model_name, str(made.model_version))
            raise

    def _send(self, call: InferCall, done: Any) -> None:
        if self._stream is not None:
            self._stream.send(call, done)
        else:
            self.backend.infer_async(call, done)

    def _completed(self, client_id: int, sent: Sent, outcome: Outcome) -> None:
        """The :data:`Done` of every asynchronous request, whatever it was sent through."""
        self._requests.complete(client_id, outcome_of(self._settled, sent, outcome))

    def _settled(self, sent: Sent, outcome: Outcome) -> Outcome:
        if not isinstance(outcome, Fault):
            outcome = to_v1.refusal(self.profile(), sent.request, outcome) or outcome
        # docs/v1-behaviour.md §4.6: over HTTP an asynchronous request counts when it completes.
        if self.endpoint.protocol == HTTP and not isinstance(outcome, Fault):
            self.stat.add(perf_counter_ns() - sent.started_ns, sent.sent_ns, 0)
        return outcome

    def _read(
        self, sent: Sent, outcome: Outcome, received: int, counts: bool = True, client_id: int = 0
    ) -> Answer:
        try:
            if isinstance(outcome, Fault):
                raise outcome
            raised = read(self._raise, sent.request, outcome)
        except Fault as fault:
            # docs/v1-behaviour.md §4.6: a refusal over HTTP has no body and is not counted.
            if counts and self.endpoint.protocol == GRPC:
                self._count(sent, received)
            raise self._error(fault, sent.request_id) from fault
        if counts:
            self._count(sent, received)
        return Answer(sent.request_id, sent.options, raised, client_id)

    def _raise(self, made: V1Request, answer: InferReply) -> V1Reply:
        again = to_v1.raise_again(made, answer)
        if again is not None:
            return again
        profile = self.profile()
        labels = self._labels.reader(self.backend, profile, made, answer.model_version)
        return to_v1.v1_reply(profile, made, answer, labels)

    def _count(self, sent: Sent, received: int) -> None:
        now = perf_counter_ns()
        self.stat.add(now - sent.started_ns, sent.sent_ns, now - received)

    def _error(self, fault: Fault, request_id: int) -> Exception:
        batching = self._profile is not None and self._profile.batching
        asked = RequestContext(self.model_name, str(self.model_version), batching)
        return self.fault_to_error(fault, request_id, _NO_STATUS, asked)
