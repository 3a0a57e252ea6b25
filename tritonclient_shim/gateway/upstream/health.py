"""Health of the v2 server behind the gateway, also at once while that server hangs."""

from __future__ import annotations

import time
from typing import Any, Callable

from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import InferenceServerException, TransportError
from tritonclient_shim.protos import grpc_service_pb2 as pb

#: Seconds between two questions to a server that hangs.
_PAUSE = 0.2
#: A server hangs if it has been silent for this many times its time limit of health.
_HANGS_AFTER = 2
_HANGS = (
    "it does not answer: it was asked for its health {0:.1f} seconds ago, and has {1:g} seconds "
    "for that, the gateway's --health-timeout. It is asked again all the time: send the request "
    "again when it works"
)


class Health:
    """Answers Health for the clients. Any thread may call.

    Each request asks the server, as long as it answers in time. After a silence one thread goes
    on asking. Until there is an answer, clients hear at once that there is none.
    """

    def __init__(
        self,
        ask: Callable[[pb.HealthRequest], pb.HealthResponse],
        failure: Callable[[BaseException], Any],
        timeout: float,
    ) -> None:
        self._ask = ask
        self._failure = failure
        self._timeout = timeout
        self._silent_since: float | None = None
        self._thread = DaemonExecutor(1, "gateway-health-check")

    @property
    def patience(self) -> float:
        """Return the seconds that a request waits before :meth:`hang` is asked."""
        return _HANGS_AFTER * self._timeout

    def hang(self) -> TransportError | None:
        """Return an error if the server has answered nothing for twice its time limit, else None.

        An inference may take long on a server that works; that server still answers for its health.
        """
        if self._silent_since is None:
            self.ask(pb.HealthRequest(mode="live"))
        since = self._silent_since
        silent = 0.0 if since is None else time.monotonic() - since
        if silent < _HANGS_AFTER * self._timeout:
            return None
        return TransportError(_HANGS.format(silent, self._timeout))

    def ask(self, request: pb.HealthRequest) -> pb.HealthResponse:
        """Return the server's answer, or why there is none."""
        since = self._silent_since
        if since is not None:
            return self._silence(_HANGS.format(time.monotonic() - since, self._timeout))
        asked = time.monotonic()
        try:
            return self._ask(request)
        except InferenceServerException as error:
            if time.monotonic() - asked > 0.9 * self._timeout and self._silent_since is None:
                self._silent_since = asked
                self._thread.execute(self._until_it_answers)
            return pb.HealthResponse(request_status=self._failure(error))

    def _silence(self, text: str) -> pb.HealthResponse:
        error = InferenceServerException(text)
        error.__cause__ = TransportError(text)
        return pb.HealthResponse(request_status=self._failure(error))

    def _until_it_answers(self) -> None:
        """Ask until something comes, if only that there is nobody any more."""
        while not self._answers():
            time.sleep(_PAUSE)
        self._silent_since = None

    def _answers(self) -> bool:
        asked = time.monotonic()
        try:
            self._ask(pb.HealthRequest(mode="live"))
        except InferenceServerException:
            return time.monotonic() - asked < 0.9 * self._timeout
        return True
