"""Inference from an event loop: no thread waits for an answer, and none has to wake another."""

from __future__ import annotations

from typing import Any, Callable

import grpc

from tritonclient_shim.backends.base import CallHeaders, Outcome
from tritonclient_shim.backends.grpc.errors import as_fault, caused
from tritonclient_shim.backends.grpc.framing import ShmUse, decode_reply
from tritonclient_shim.backends.grpc.interceptors import CallInterceptor
from tritonclient_shim.backends.grpc.messages import present
from tritonclient_shim.core.errors import Fault
from tritonclient_shim.core.model import InferReply
from tritonclient_shim.core.reading import outcome_of

_MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer"


class LoopChannel:
    """A channel of ``grpc.aio``, which belongs to one event loop.

    The interceptor's additions are made here, because ``grpc.aio`` has interceptors of its own.
    """

    def __init__(
        self, loop: Any, channel: Any, interceptor: CallInterceptor | None, timeout: float | None
    ) -> None:
        self.loop = loop
        self._channel = channel  # which would be closed if nothing referred to it
        self._interceptor = interceptor
        self._timeout = timeout
        self._infer = channel.unary_unary(_MODEL_INFER)

    async def outcome(
        self, request: bytes, use: ShmUse, headers: CallHeaders, on_fault: Callable[[Fault], None]
    ) -> Outcome:
        """ModelInfer of a serialised request."""
        metadata: Any = headers or None
        if self._interceptor is not None:
            metadata = tuple(self._interceptor.metadata_with(headers))
        try:
            reply = await self._infer(request, timeout=self._timeout, metadata=metadata)
        except grpc.RpcError as error:
            fault = as_fault(error, use.regions)
            on_fault(fault)
            return caused(fault, error)
        return outcome_of(_decoded, reply, use)


def _decoded(reply: Any, use: ShmUse) -> InferReply:
    return decode_reply(present(reply), use.outputs)
