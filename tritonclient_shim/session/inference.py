"""One InferContext's session: legacy arguments in, replies out, synchronously or not."""

from __future__ import annotations

import sys
from functools import partial
from time import perf_counter_ns
from typing import Any, Mapping, cast

from tritonclient_shim.backends.base import Done, Outcome, StreamingBackend
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
from tritonclient_shim.session.exchange import Exchange, MakeRequest
from tritonclient_shim.session.in_flight import Callback, InFlight
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
from tritonclient_shim.translate import arguments, request, undeclared
from tritonclient_shim.translate.headers import Headers

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

    def run(
        self, inputs: Mapping[Any, Any], outputs: Mapping[Any, Any], scalars: Any
    ) -> CompletedRequest:
        """One inference, answered when this returns; InferenceServerException otherwise.

        ``scalars`` are batch_size, flags, corr_id, priority and timeout_us as given.
        """
        pending = self._prepare(inputs, outputs, scalars, numbered=self._stream is not None)
        outcome = pending.exchange.send(self._infer)
        return self._read(pending, outcome, perf_counter_ns())

    def _infer(self, call: InferCall) -> InferReply:
        return self._stream.infer(call) if self._stream else self.backend.infer(call)

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
        pending = self._prepare(inputs, outputs, scalars, numbered=True)
        exchange = pending.exchange
        client_id = exchange.client_id
        call: InferCall | Fault
        try:
            call = exchange.call()
        except Fault as refused:
            call = refused
        self._requests.add(client_id, pending, callback)
        done = partial(self._completed, client_id, pending)
        if isinstance(call, Fault):  # v1's server refused it: the fetch tells
            done(call)
            return client_id
        exchange.release_inputs()
        try:
            self._send(call, done)
        except Fault as fault:
            self._requests.forget(client_id)
            raise exchange.error(fault) from shown_cause(fault)
        except BaseException:  # such as a plugin's own: nothing was sent
            self._requests.forget(client_id)
            raise
        return client_id

    def fetch(self, client_id: int, wait: bool | None) -> CompletedRequest | None:
        """The answer of an asynchronous request, once; see :meth:`InFlight.take`."""
        taken = self._requests.take(client_id, wait)
        if taken is None:
            return None
        counts = self.endpoint.protocol == GRPC
        answer = self._read(taken.context, taken.outcome, perf_counter_ns(), counts)
        return answer._replace(client_id=client_id)

    def ready(self, wait: bool) -> int | None:
        """Id of a completed request without callback; see :meth:`InFlight.ready`."""
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

    # ---------------------------------------------------------------------------- steps

    def _prepare(
        self, inputs: Mapping[Any, Any], outputs: Mapping[Any, Any], scalars: Any, numbered: bool
    ) -> PendingRequest:
        """Check the arguments in v1's order; a new correlation id sticks
        (docs/v1-behaviour.md §3.2, §3.9).

        InferenceServerException for what v1's client refused.
        """
        started = perf_counter_ns()
        profile = self._model.profile or self._profile()
        try:
            return self._prepared(profile, inputs, outputs, scalars, numbered, started)
        except InferenceServerException:
            changed = self._changed_since(profile)
            if changed is None:
                raise
        return self._prepared(changed, inputs, outputs, scalars, numbered, started)

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

    def _prepared(
        self,
        profile: ModelProfile,
        inputs: Mapping[Any, Any],
        outputs: Mapping[Any, Any],
        scalars: Any,
        numbered: bool,
        started: int,
    ) -> PendingRequest:
        bound = self._bound(profile, inputs, outputs, scalars, numbered)
        if bound is not None:
            exchange = self._exchange(bound.request.id, lambda _: bound.complete(), bound)
            options = bound.prepared.options
        else:
            options, made = self._made(profile, inputs, outputs, scalars, numbered)
            exchange = self._exchange(made.id, lambda _: made)
        return PendingRequest(options, exchange, started, perf_counter_ns() - started)

    def _exchange(
        self, client_id: int, make: MakeRequest, bound: BoundRequest | None = None
    ) -> Exchange:
        version, number = self.model_version, next_request_id()
        return Exchange(self, self._model, version, number, client_id, make, bound)

    def _bound(
        self,
        profile: ModelProfile,
        inputs: Mapping[Any, Any],
        outputs: Mapping[Any, Any],
        scalars: Any,
        numbered: bool,
    ) -> BoundRequest | None:
        """The request, bound to the prepared one; None when it differs in more than data."""
        found = self._preparation.find(profile, inputs, outputs, scalars[0])
        if found is None:
            return None
        prepared, data = found
        numbers = arguments.numbers(*scalars[1:])
        correlation_id = self._correlation_id(profile, numbers[1])
        self._shapes.update(prepared.shapes)
        client_id = self._requests.next_id() if numbered else 0
        return prepared.bind(data, numbers, correlation_id, client_id)

    def _made(
        self,
        profile: ModelProfile,
        inputs: Mapping[Any, Any],
        outputs: Mapping[Any, Any],
        scalars: Any,
        numbered: bool,
    ) -> tuple[request.Options, V1Request]:
        """The request, made the long way, and prepared for the next one."""
        whole = undeclared.completed(profile, inputs, outputs)
        options = request.parse_options(whole, inputs, outputs, scalars, look_up)
        correlation_id = self._correlation_id(profile, options.correlation_id)
        try:
            tensors = request.bind_inputs(whole, options, inputs, self._shapes, look_up)
        except RegionError as error:
            raise client_error_of(error) from shown_cause(error)
        client_id = self._requests.next_id() if numbered else 0
        made = request.build(options, tensors, self.model_version, correlation_id, client_id)
        if whole is not profile:
            return options, undeclared.with_types(whole, made)
        protocol = self.endpoint.protocol
        self._preparation.consider(profile, options, inputs, outputs, made, protocol)
        return options, made

    def _correlation_id(self, profile: ModelProfile, given: int) -> int:
        """The id of a request, which those after it have, too, where the server has sequences."""
        if given and (profile.server is None or profile.server.sequences):
            self.correlation_id = given
        return given or self.correlation_id

    def _send(self, call: InferCall, done: Done) -> None:
        if self._stream is not None:
            self._stream.send(call, done)
        else:
            self.backend.infer_async(call, done)

    def _completed(self, client_id: int, pending: PendingRequest, outcome: Outcome) -> None:
        """The :data:`Done` of every asynchronous request, whatever it was sent through."""
        self._requests.complete(client_id, outcome_of(self._settled, pending, outcome))

    def _settled(self, pending: PendingRequest, outcome: Outcome) -> Outcome:
        outcome = pending.exchange.checked(outcome)
        # docs/v1-behaviour.md §4.6: over HTTP an asynchronous request counts when it completes.
        if self.endpoint.protocol == HTTP and not isinstance(outcome, Fault):
            self.stat.add(perf_counter_ns() - pending.started_ns, pending.sent_ns, 0)
        return outcome

    def _read(
        self, pending: PendingRequest, outcome: Outcome, received: int, counts: bool = True
    ) -> CompletedRequest:
        exchange = pending.exchange
        try:
            reply = exchange.reply(outcome, self._infer)
        except Fault as fault:
            # docs/v1-behaviour.md §4.6: a refusal over HTTP has no body and is not counted.
            if counts and self.endpoint.protocol == GRPC:
                self._count(pending, received)
            raise exchange.error(fault) from shown_cause(fault)
        if counts:
            self._count(pending, received)
        return CompletedRequest(exchange.request_id, pending.options, reply)

    def _count(self, pending: PendingRequest, received: int) -> None:
        now = perf_counter_ns()
        self.stat.add(now - pending.started_ns, pending.sent_ns, now - received)
