"""What follows a refusal, or a reply that does not fit: one table.

A model may have been reloaded since its configuration was read, or another server may listen at the
address. Each reason to suspect that is a :class:`Doubt`. :data:`CONSEQUENCES` says for each whether
the configuration is read again, and whether the request may be sent again if it has changed.

A configuration is read again within
:data:`~tritonclient_shim.concurrency.questions.ANSWERED_WITHIN` seconds, or stays as it was: the
caller has a refusal or a reply already. A request with state, or whose data were dropped, is never
sent again.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InvalidRequest,
    ServerError,
    UnreadableReply,
)


class Doubt(Enum):
    """Why what is known of a model may be outdated."""

    REFUSED_HERE = "this side refused a context or a request because of the configuration"
    REFUSED = "the server refused the request"
    INVALID = "the request was refused before it was sent, with a configuration read for that"
    BUSY = "the server has too much to do, which says nothing about the model"
    UNANSWERED = "no server answered, or none of KServe v2"
    UNREADABLE = "the reply cannot be read"
    MISFIT = "the reply has other outputs, shapes or data types than the model"
    OLD_LABELS = "the configuration was read too long ago to say which outputs have labels"
    OTHER_SERVER = "the reply to a request with state is none of Triton's"


class Consequence(NamedTuple):
    """What follows a doubt."""

    reads_configuration: bool
    sends_again: bool  # if the configuration has changed


_NOTHING = Consequence(reads_configuration=False, sends_again=False)
#: The request was answered, so the configuration is read for this reply or for later requests.
_READ = Consequence(reads_configuration=True, sends_again=False)
_SEND_AGAIN = Consequence(reads_configuration=True, sends_again=True)

CONSEQUENCES = {
    Doubt.REFUSED_HERE: _SEND_AGAIN,  # it is made again, and sent for the first time
    Doubt.REFUSED: _SEND_AGAIN,
    Doubt.INVALID: _NOTHING,
    Doubt.BUSY: _NOTHING,
    Doubt.UNANSWERED: _NOTHING,
    Doubt.UNREADABLE: _READ,
    Doubt.MISFIT: _READ,
    Doubt.OLD_LABELS: _READ,
    Doubt.OTHER_SERVER: _READ,
}

#: Refusals of a server that has too much to do.
_BUSY = frozenset(("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"))


def doubt_of(error: BackendError) -> Doubt:
    """Return the doubt that the error of a request raises."""
    if isinstance(error, UnreadableReply):
        return Doubt.UNREADABLE
    if isinstance(error, InvalidRequest):
        return Doubt.INVALID
    if isinstance(error, ServerError):
        return Doubt.BUSY if error.code in _BUSY else Doubt.REFUSED
    if isinstance(error, ForeignError) and error.http_status:
        return Doubt.REFUSED  # by an HTTP framework
    return Doubt.UNANSWERED
