"""Handing over outcomes off the caller's thread."""

from __future__ import annotations

import threading
from typing import Any, Callable


def elsewhere(act: Callable[..., None], *arguments: Any) -> None:
    """Run ``act`` on a thread of its own; for the rare outcome that is there at once."""
    threading.Thread(target=act, args=arguments, name="grpc-outcome", daemon=True).start()


def when_done(future: Any, finish: Callable[[Any], None]) -> None:
    """Run ``finish(future)`` once, on a thread other than the caller's.

    gRPC runs it at once, on the caller's thread, when the call has already ended.
    """
    caller = threading.get_ident()
    adding = True

    def ended(future: Any) -> None:
        if adding and threading.get_ident() == caller:
            elsewhere(finish, future)
        else:
            finish(future)

    future.add_done_callback(ended)
    adding = False
