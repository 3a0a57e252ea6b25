"""What v1 itself printed when a context was made with ``verbose=True``
(docs/v1-behaviour.md §10.2).

libcurl's trace of HTTP connections is left out: there is no libcurl.
"""

from __future__ import annotations

import sys
from typing import Any

from tritonclient_shim.core.model import GRPC


def health(mode: str, answer: bool, protocol: str) -> None:
    """``live: 1`` or ``ready: 1`` on stdout, over gRPC only."""
    if protocol == GRPC:
        print(f"{mode}: {int(answer)}")


def server_status(status: Any) -> None:
    """A ServerStatus and a blank line on stdout."""
    print(status)


def repository_index(index: Any) -> None:
    """A ModelRepositoryIndex and a blank line on stdout."""
    print(index)


def shared_memory_status(status: Any, protocol: str) -> None:
    """A SharedMemoryStatus and a blank line, on stdout over HTTP and on stderr over gRPC."""
    print(status, file=sys.stderr if protocol == GRPC else sys.stdout)
