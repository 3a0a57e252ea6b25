"""Request a server's status, and give the server something to count."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorrtserver.api import InferContext, ServerStatus, ServerStatusContext, server_status_pb2
from tests.infer_cases import RAW, wait_for


def status_of(server: Any, protocol: int, model_name: str | None = None) -> ServerStatus:
    with ServerStatusContext(server.url(protocol), protocol, model_name) as context:
        return context.get_server_status()


def run(server: Any, protocol: int, model: str, data: np.ndarray, batch: int) -> None:
    with InferContext(server.url(protocol), protocol, model) as context:
        context.run({"INPUT0": [data] * batch}, {"OUTPUT0": RAW}, batch)


def wait_until_unloaded(server: Any, name: str) -> None:
    def state() -> int:
        return status_of(server, 0, name).model_status[name].version_status[1].ready_state

    wait_for(lambda: state() == server_status_pb2.MODEL_UNAVAILABLE)


def counted_status(
    server: Any, protocol: int, name: str, inferences: int, model_name: str | None = None
) -> ServerStatus:
    """Return the status once it counts ``inferences``. Triton counts shortly after it replies."""
    seen: list[ServerStatus] = []

    def counted() -> bool:
        seen.append(status_of(server, protocol, model_name))
        version = seen[-1].model_status[name].version_status[1]
        return version.model_inference_count == inferences

    wait_for(counted)
    return seen[-1]
