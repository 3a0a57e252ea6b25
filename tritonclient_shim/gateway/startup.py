"""The first question to Triton, asked while the gateway already serves: a warning if unanswered."""

from __future__ import annotations

import logging
from concurrent.futures import wait
from typing import Any, Sequence

from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.gateway.upstream import Upstream

log = logging.getLogger("tritonclient_shim.gateway")

#: Seconds after which a Triton that has said nothing is warned of.
PATIENCE = 5.0


def greet(upstreams: Sequence[Upstream]) -> None:
    """Ask each server who it is; one line in the log when any does not tell. Does not wait."""
    pool = DaemonExecutor(len(upstreams) + 1, "gateway-greeting")
    asked = [pool.submit(one.silence) for one in upstreams]
    pool.submit(_warn, upstreams, asked)
    pool.shutdown()


def _warn(upstreams: Sequence[Upstream], asked: Sequence[Any]) -> None:
    answered, _ = wait(asked, PATIENCE)
    nothing = f"nothing came within {PATIENCE:g} seconds"
    texts = [one.result() if one in answered else nothing for one in asked]
    missing = [f"{one.where}: {text}" for one, text in zip(upstreams, texts) if text]
    if missing:
        log.warning(
            "asked for Triton, but no v2 inference server answers at %s. The gateway serves all "
            "the same: clients are told UNAVAILABLE until one answers there, and need not connect "
            "again then. If none is about to start, check --triton-grpc and --triton-http",
            "; nor at ".join(missing),
        )
