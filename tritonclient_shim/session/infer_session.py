"""One InferContext's session: legacy arguments in, replies out, synchronously or not."""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns
from typing import Any, Callable, cast

from tritonclient_shim.backends.base import Done, Outcome, StreamingBackend
from tritonclient_shim.concurrency import forks
from tritonclient_shim.core.arguments import UINT32, UINT64, RunArguments, unsigned
from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    InvalidRequest,
    ServerError,
    UnreadableReply,
    shown_cause,
)
from tritonclient_shim.core.model import (
    Endpoint,
    InferCall,
    InferReply,
    V1Reply,
    V1Request,
    next_request_id,
)
from tritonclient_shim.core.reading import outcome_of
from tritonclient_shim.notice.datatypes import check_datatypes
from tritonclient_shim.servers.base import ModelProfile
from tritonclient_shim.servers.triton_sentences import Meaning, says
from tritonclient_shim.session.exchange import Exchange, Send
from tritonclient_shim.session.in_flight import Callback, InFlight
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.plan import Plan, RequestPlan, compile_plan
from tritonclient_shim.session.reloads import Doubt
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.session.streams import ContextStream
from tritonclient_shim.shm.regions import RegionError, lookup
from tritonclient_shim.translate.constructors import Headers
from tritonclient_shim.translate.result import results_of

_NO_MODEL_STATUS = "status request did not return status"


class ContextExchange(Exchange):
    """The exchange of a context.

    Its request was bound by ``arguments_plan``, from ``started_ns`` to ``sent_ns``. ``reply`` is
    v1's reply once the exchange is completed. To make results of it may still fail.
    """

    arguments_plan: Plan
    started_ns: int
    sent_ns: int
    is_asynchronous = False
    reply: V1Reply

    def make(self, profile: ModelProfile) -> tuple[V1Request, RequestPlan]:
        """Return the request, and its plan; see :meth:`Exchange.make`."""
        protocol = self.session.endpoint.protocol
        return self.request, self.arguments_plan.plan_of(self.request, protocol, profile)

    @property
    def has_first(self) -> bool:
        """True if the reply has the first of the outputs, in the form that was asked for."""
        outputs = self.arguments_plan.options.outputs
        if not outputs or not self.reply.outputs:
            return False
        wanted = outputs[0].output
        first = self.reply.outputs[0]  # they are in the order of the request
        return first.name == wanted.name and (first.classes is not None) == wanted.form.is_classes

    def results(self) -> dict[Any, list[Any]]:
        """Return what ``run`` returns. Raises v1's client errors for an odd reply.

        Read the configuration again if no results can be made: it may be outdated.
        """
        client_id = self.client_id if self.is_asynchronous else 0
        try:
            return results_of(self.arguments_plan.options, self.reply, client_id)
        except (RegionError, UnreadableReply) as error:
            if isinstance(error, UnreadableReply):
                self.model_has_changed(Doubt.UNREADABLE)
            raise InferenceServerException(str(error)) from shown_cause(error)


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
        super().__init__(endpoint, headers, verbose, owner="InferContext")
        self.model_version = model_version
        self.correlation_id = correlation_id
        self.stat = ContextStat()
        self._counts_on_completion = endpoint.rules.counts_on_completion
        self._model = KnownModel(model_name, declared=self.settings.declared(model_name))
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._requests: InFlight[ContextExchange] = InFlight()
        self._stream: ContextStream | None = None
        self._send: Send
        self._start: Callable[[InferCall, Done], None]
        #: The id of a request of ``run``: streams number all requests, other contexts none.
        self._run_id: Callable[[], int] = int  # 0
        self._plan: Plan | None = None  # of the latest request that others can follow
        try:
            self._connect(streaming)
        except BaseException:
            self.close(wait=False)
            raise

    def _connect(self, streaming: bool) -> None:
        """Open the stream, then read the model's configuration, as v1's constructor did."""
        request_id = next_request_id()
        with self.guard(request_id, _NO_MODEL_STATUS):
            self._send = self.backend.infer
            self._start = self.backend.infer_async
            if streaming:
                self._stream = ContextStream(cast(StreamingBackend, self.backend))
                self._send = self._stream.infer
                self._start = self._stream.send
                self._run_id = self._requests.next_id
            self._find_model(request_id)
            self._check_context(streaming)

    def _check_context(self, streaming: bool) -> None:
        """Raise InvalidRequest for a context that the server would misunderstand.

        What is known of the server may be outdated, so it is asked once more.
        """
        known = self._model.profile
        if known is None:
            return
        asked = self.model_version, self.correlation_id, streaming
        try:
            known.dialect.check_context(known, *asked)
        except InvalidRequest:
            if not self._model.has_changed(self, known, Doubt.REFUSED_HERE):
                raise
            known = self._model.profile or known
            known.dialect.check_context(known, *asked)

    def _find_model(self, request_id: int) -> None:
        """Read the model's configuration, unless it is known but has no version loaded.

        v1 kept the configuration of an unloaded model: its contexts could be made, and
        failed at the first request (docs/v1-behaviour.md §3.4).
        """
        name = self._model.name
        if not name:
            self.backend.server_metadata()
            raise InferenceServerException('unable to find status information for ""')
        try:
            self._model.read(self.backend)
        except ServerError as error:
            if error.code != "NOT_FOUND":
                raise
            if says(error.message, Meaning.NOT_LOADED):
                return
            unknown = f"no status available for unknown model '{name}'"
            raise self.server_error(unknown, request_id, error.status) from shown_cause(error)

    # ------------------------------------------------------------------------- requests

    def run(self, arguments: RunArguments) -> ContextExchange:
        """Run one inference, and return its exchange with the reply; see :meth:`results`.

        Raises InferenceServerException.
        """
        exchange = self._exchange(arguments, self._run_id)
        exchange.run(self._send)
        return self._finish(exchange, perf_counter_ns())

    def start(self, callback: Callback | None, arguments: RunArguments) -> int:
        """Send a request and return its client id; validation errors are raised here
        (docs/v1-behaviour.md §5).
        """
        exchange = self._exchange(arguments, self._requests.next_id)
        exchange.is_asynchronous = True
        client_id = exchange.client_id
        try:
            call = exchange.prepare()
        except BackendError as refusal:  # by v1's server: the fetch raises that
            self._requests.add(exchange, callback)
            self._requests.keep_outcome(client_id, refusal)
            return client_id
        exchange.drop_inputs()
        self._requests.add(exchange, callback)
        try:
            self._start(call, partial(self._on_outcome, exchange))
        except BaseException as error:
            self._requests.forget(client_id)
            if isinstance(error, BackendError):
                raise exchange.error(error) from shown_cause(error)
            raise  # whatever it is, nothing was sent
        return client_id

    def fetch(self, client_id: int, wait: bool | None) -> ContextExchange | None:
        """Return an asynchronous request completed, once; see :meth:`InFlight.take`."""
        exchange = self._requests.take(client_id, wait)
        return None if exchange is None else self._finish(exchange, perf_counter_ns())

    def ready(self, wait: bool) -> int | None:
        """Return the id of a completed request without callback; see :meth:`InFlight.ready`."""
        return self._requests.ready(wait)

    def close(self, wait: bool = True) -> None:
        """Drop what is outstanding, as v1 did (docs/v1-behaviour.md §5); idempotent.

        Without ``wait`` it returns at once; the server still gets all that a stream was given.
        """
        self.is_closed = True
        waits = wait and self.endpoint.rules.close_waits and self._stream is None
        try:
            self._requests.close(wait_for_next=waits)
            if self._stream is not None:
                self._stream.close(wait)
        finally:  # a signal's handler may end the waits
            super().close()

    # ------------------------------------------------------------------- from the arguments

    def _exchange(self, arguments: RunArguments, next_id: Callable[[], int]) -> ContextExchange:
        """Check the arguments in v1's order; a new correlation id sticks
        (docs/v1-behaviour.md §3.2, §3.9).

        InferenceServerException for what v1's client refused.
        """
        started = perf_counter_ns()
        profile = self._model.profile or self._ask_for_model()
        try:
            plan, request = self._bound(profile, arguments, next_id)
        except InferenceServerException:  # perhaps an outdated configuration refused it
            if not self._model.has_changed(self, profile, Doubt.REFUSED_HERE):
                raise
            profile = self._model.profile or profile
            plan, request = self._bound(profile, arguments, next_id)
        exchange = ContextExchange(
            session=self,
            model=self._model,
            version=self.model_version,
            request_id=next_request_id(),
            client_id=request.id,
        )
        exchange.request = request
        exchange.arguments_plan = plan
        exchange.started_ns = started
        exchange.sent_ns = perf_counter_ns()
        return exchange

    def _ask_for_model(self) -> ModelProfile:
        """Ask for a model that was not loaded when it was last asked for."""
        with self.guard(next_request_id(), _NO_MODEL_STATUS):
            return self._model.read(self.backend)

    def _bound(
        self, profile: ModelProfile, arguments: RunArguments, next_id: Callable[[], int]
    ) -> tuple[Plan, V1Request]:
        """Return the plan of these arguments, compiled if need be, and the request it binds."""
        plan = self._plan
        try:
            if plan is None or not plan.suits(profile, arguments):
                plan = compile_plan(profile, arguments, lookup)
                datatypes = {name: spec.datatype for name, spec in profile.inputs.items()}
                check_datatypes(datatypes, arguments.inputs)
            flags = unsigned(arguments.flags, UINT32, 2)
            correlation_id = unsigned(arguments.correlation_id, UINT64, 4)
            priority = unsigned(arguments.priority, UINT32, 5)
            timeout_us = unsigned(arguments.timeout_us, UINT64, 6)
            if correlation_id and profile.dialect.keeps_sequences:
                self.correlation_id = correlation_id
            v1_request = plan.bind(
                arguments=arguments,
                shapes=self._shapes,
                look_up=lookup,
                model_version=self.model_version,
                correlation_id=correlation_id or self.correlation_id,
                flags=flags,
                priority=priority,
                timeout_us=timeout_us,
                next_id=next_id,
            )
        except RegionError as error:  # a foreign handle, or a region that cannot be read
            raise InferenceServerException(str(error)) from shown_cause(error)
        if plan.is_reusable:
            self._plan = plan
        return plan, v1_request

    # ----------------------------------------------------------------------- to the reply

    def _on_outcome(self, exchange: ContextExchange, outcome: Outcome) -> None:
        """Complete an asynchronous request, whatever it was sent through: see :data:`Done`.

        Complete it also if counting fails: nobody else would.
        """
        try:
            if self._counts_on_completion and isinstance(outcome, InferReply):
                self._count_on_completion(exchange, outcome)
        finally:
            self._requests.keep_outcome(exchange.client_id, outcome)

    def _count_on_completion(self, exchange: ContextExchange, reply: InferReply) -> None:
        """Count a reply that has a v1 reply: what v1's server refused was not counted."""
        v1_outcome = outcome_of(exchange.plan.replies.read, reply, exchange.client_id, None)
        if not isinstance(v1_outcome, BackendError):
            self.stat.add(exchange.started_ns, exchange.sent_ns, None)

    def _finish(self, exchange: ContextExchange, received: int) -> ContextExchange:
        """Read the reply, count the request, and return the exchange.

        An asynchronous request may have been counted on completion.
        """
        on_completion = self._counts_on_completion
        try:
            exchange.reply = exchange.read_reply(self._send)
        except InferenceServerException:
            if not on_completion:
                self.stat.add(exchange.started_ns, exchange.sent_ns, received)
            raise
        if not (on_completion and exchange.is_asynchronous):
            self.stat.add(exchange.started_ns, exchange.sent_ns, received)
        return exchange


class ContextStat:
    """What ``InferContext.get_stat`` counts (docs/v1-behaviour.md §4.6).

    Times are in nanoseconds, summed over completed requests. Send time is what checking and binding
    arguments took. Receive time is what reading replies took, with questions for labels and second
    sendings. The time in between is the client's for calls, the network's and the server's.
    """

    def __init__(self) -> None:
        self._lock = forks.Lock()
        self._counts = (0, 0, 0, 0)

    def add(self, started: int, sent: int, received: int | None) -> None:
        """Count a request that is completed now; ``received`` is None if nothing is read."""
        now = perf_counter_ns()
        read_ns = 0 if received is None else now - received
        with self._lock.lock:
            completed, total, send, receive = self._counts
            total += now - started
            self._counts = (completed + 1, total, send + sent - started, receive + read_ns)

    def as_dict(self) -> dict[str, int]:
        """Return the four counters under v1's names."""
        completed, total, send, receive = self._counts
        return {
            "completed_request_count": completed,
            "cumulative_total_request_time_ns": total,
            "cumulative_send_time_ns": send,
            "cumulative_receive_time_ns": receive,
        }
