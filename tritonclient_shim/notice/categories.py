"""The warning category of everything that this project deprecates."""

from __future__ import annotations

from deprecation import DeprecatedWarning


class TensorRTServerDeprecationWarning(DeprecatedWarning):
    """A use of the retired ``tensorrtserver`` API.

    It is a DeprecationWarning, so ``-W ignore::DeprecationWarning`` and the like apply to it. As a
    category of its own it can be filtered alone, by the name
    ``tritonclient_shim.notice.categories.TensorRTServerDeprecationWarning``.
    """

    def __str__(self) -> str:
        """Return the notice of a symbol; of a whole program, which has no symbol, the details."""
        return super().__str__() if self.function else str(self.details)
