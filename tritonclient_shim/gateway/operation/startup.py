"""The startup check: does Triton answer? It runs while the gateway serves, and only warns."""

from __future__ import annotations

import logging
from concurrent.futures import wait
from typing import Any, Sequence

from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.gateway.upstream.server import Upstream

log = logging.getLogger("tritonclient_shim.gateway")

#: Seconds after which the log warns of a Triton that has not answered.
WARN_AFTER = 5.0


def check_upstreams(upstreams: Sequence[Upstream]) -> None:
    """Ask each server for its metadata; one warning names those that do not answer.

    This function returns at once: threads ask and wait.
    """
    pool = DaemonExecutor(len(upstreams) + 1, "gateway-startup-check")
    checks = [pool.submit(one.why_unreachable) for one in upstreams]
    pool.submit(_warn, upstreams, checks)
    pool.shutdown()


def _warn(upstreams: Sequence[Upstream], checks: Sequence[Any]) -> None:
    finished, _ = wait(checks, WARN_AFTER)
    nothing = f"nothing came within {WARN_AFTER:g} seconds"
    reasons = [one.result() if one in finished else nothing for one in checks]
    missing = [f"{one.where}: {reason}" for one, reason in zip(upstreams, reasons) if reason]
    if missing:
        log.warning(
            "asked for Triton, but no v2 inference server answers at %s. The gateway serves all "
            "the same: clients are told UNAVAILABLE until one answers there, and need not connect "
            "again then. If none is about to start, check --triton-grpc and --triton-http",
            "; nor at ".join(missing),
        )
