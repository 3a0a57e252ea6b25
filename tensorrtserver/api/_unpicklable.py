"""What all contexts have in common: they stay in the process that has made them."""

from __future__ import annotations

from typing import Any


class Unpicklable:
    """An open context cannot be pickled or copied; ``_ctx`` is None in one that is closed."""

    _ctx: Any

    def __getstate__(self) -> dict[str, Any]:
        # v1 raised ValueError, too: ctypes refused to pickle its pointer. A subclass that leaves
        # out its connection has a __getstate__ of its own, and goes on with that.
        if self._ctx is not None:
            raise ValueError(
                f"an open {type(self).__name__} can be neither pickled nor copied: its connection "
                "belongs to this process and this object; hand over its url, protocol and model "
                "name instead, and make another context from them there"
            )
        return self.__dict__
