"""Where the gateway's log goes."""

from __future__ import annotations

import logging


def log_to_stderr() -> None:
    """Let this process log to stderr: all lines of the gateway, warnings of all else."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("tritonclient_shim.gateway").setLevel(logging.INFO)
