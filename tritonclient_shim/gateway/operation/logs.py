"""Where the gateway's log goes."""

from __future__ import annotations

import logging
from typing import Sequence


def log_to_stderr(access_log: str, warnings: Sequence[str] = ()) -> None:
    """Let this process log to stderr: all lines of the gateway, warnings of all else.

    It begins with ``warnings``. Lines of an access log in JSON have nothing before them.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("tritonclient_shim.gateway").setLevel(logging.INFO)
    if access_log == "json":
        plain = logging.StreamHandler()
        access = logging.getLogger("tritonclient_shim.gateway.access")
        access.addHandler(plain)
        access.propagate = False
    for line in warnings:
        logging.getLogger("tritonclient_shim.gateway").warning("%s", line)
