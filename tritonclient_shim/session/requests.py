"""The requests of an InferContext: pending, and completed."""

from __future__ import annotations

from typing import Any, NamedTuple

from tritonclient_shim.core.errors import InferenceServerException, UnreadableFault, shown_cause
from tritonclient_shim.core.model import V1Reply
from tritonclient_shim.session.inference import Identity
from tritonclient_shim.shm.handle_table import lookup
from tritonclient_shim.shm.region import Region, RegionError
from tritonclient_shim.translate import request, result


def client_error_of(error: RegionError) -> InferenceServerException:
    """A foreign handle, and a region that cannot be read, are client errors
    (docs/v1-behaviour.md §4.3).
    """
    return InferenceServerException(str(error))


def look_up(handle: object) -> Region:
    """The region of a shared-memory handle; InferenceServerException when it is none of ours."""
    try:
        return lookup(handle)
    except RegionError as error:
        raise client_error_of(error) from shown_cause(error)


class CompletedRequest(NamedTuple):
    """A request that the server has answered; reading its results may still fail."""

    request_id: int  # the server-side id (docs/v1-behaviour.md §4.5)
    options: request.Options
    reply: V1Reply
    client_id: int = 0  # of an asynchronous request

    @property
    def has_first(self) -> bool:
        """Is the first of the outputs there, in the form that was asked for?"""
        if not self.options.outputs:
            return False
        wanted = self.options.outputs[0].output
        for found in self.reply.outputs:
            if found.name == wanted.name:
                return (found.classes is None) == (wanted.class_count is None)
        return False

    def read_into(self, results: dict[Any, list[Any]]) -> None:
        """Fill the dict that ``run`` returns; v1's client errors where the reply does not fit."""
        try:
            result.read_into(results, self.options, self.reply, self.client_id)
        except RegionError as error:
            raise client_error_of(error) from shown_cause(error)
        except UnreadableFault as fault:
            raise InferenceServerException(fault.message) from shown_cause(fault)


class PendingRequest(NamedTuple):
    """What must be kept of a request until its answer is read."""

    identity: Identity
    options: request.Options
    started_ns: int
    sent_ns: int
