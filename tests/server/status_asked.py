"""Ask a server for its status, and give it something to count."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tensorrtserver.api import InferContext, ServerStatus, ServerStatusContext, server_status_pb2

RAW = InferContext.ResultFormat.RAW


def status_of(server: Any, protocol: int, model_name: str | None = None) -> ServerStatus:
    with ServerStatusContext(server.url(protocol), protocol, model_name) as context:
        return context.get_server_status()


def run(server: Any, protocol: int, model: str, data: np.ndarray, batch: int) -> None:
    with InferContext(server.url(protocol), protocol, model) as context:
        context.run({"INPUT0": [data] * batch}, {"OUTPUT0": RAW}, batch)


def wait_until_unloaded(server: Any, name: str) -> None:
    deadline = time.monotonic() + 30
    unavailable = server_status_pb2.MODEL_UNAVAILABLE
    while (
        status_of(server, 0, name).model_status[name].version_status[1].ready_state != unavailable
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def counted_status(
    server: Any, protocol: int, name: str, inferences: int, asked: str | None = None
) -> ServerStatus:
    """Return the status once it counts ``inferences``: Triton counts shortly after its reply."""
    deadline = time.monotonic() + 30
    while True:
        status = status_of(server, protocol, asked)
        if status.model_status[name].version_status[1].model_inference_count == inferences:
            return status
        assert time.monotonic() < deadline, status
        time.sleep(0.02)
