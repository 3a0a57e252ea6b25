"""What a stream still owes: its requests without an answer, by their ids, oldest first."""

from __future__ import annotations

from typing import Dict

from tritonclient_shim.backends.base import Done, Outcome
from tritonclient_shim.core.errors import Fault, TransportFault

_NOT_OURS = (
    "GRPC client failed: 13: The stream was ended because of an answer for request id '{}', which "
    "is not outstanding on it: a server answers each request once, under its own id. Nobody can "
    "tell whose answer it is; check which server or proxy listens at this address"
)


class Owed(Dict[str, Done]):
    """The requests of one stream that await an answer, each with what receives its outcome.

    Senders, the stream's reader and the garbage collector meet here without a lock: each request
    is taken out of the dict by one of them only.
    """

    def answer(self, request_id: str, outcome: Outcome) -> None:
        """Hand an answer to its request. TransportFault, the end of the stream, if it has none."""
        done = self.pop(request_id, None)
        if done is None:
            done = self._by_order(request_id)
        done(outcome)

    def _by_order(self, request_id: str) -> Done:
        """The oldest request, if the answer names none: streams keep the order of requests.

        An answer that names a request which is not outstanding is no one's. Given to any request
        it could be a wrong result, and dropped it could leave its request without one for ever.
        """
        oldest = "" if request_id else next(iter(list(self)), "")
        done = self.pop(oldest, None)
        if done is None:
            raise TransportFault(_NOT_OURS.format(request_id), "StatusCode.INTERNAL")
        return done

    def fail(self, fault: Fault) -> None:
        """Hand the fault to every request, the oldest first: the stream has ended."""
        for request_id in list(self):  # who comes too late takes its own request back
            done = self.pop(request_id, None)
            if done is not None:
                done(fault)
