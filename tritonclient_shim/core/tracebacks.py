"""Short tracebacks of the facade's errors."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Callable


class ShortTraceback:
    """A ``with`` statement that removes our frames below it from the traceback of our errors.

    The user sees the line of the call, one function of ours and the message, as with v1. A
    decorator would add a frame. Errors of other kinds keep their frames: some are of users' code.
    Python's development mode keeps all frames. ``kinds`` returns our kinds of errors, which may
    take an import.
    """

    def __init__(self, kinds: Callable[[], tuple[type[BaseException], ...]]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None or traceback is None or sys.flags.dev_mode:
            return
        if issubclass(kind, self._kinds()):
            traceback.tb_next = None
