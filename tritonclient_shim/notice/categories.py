"""The warning category of everything that this project deprecates."""

from __future__ import annotations

from deprecation import DeprecatedWarning


class TensorRTServerDeprecationWarning(DeprecatedWarning):
    """A use of the retired ``tensorrtserver`` API.

    A DeprecationWarning by inheritance, so ``-W ignore::DeprecationWarning`` and its like
    apply; a category of its own, so it can be filtered alone:
    ``tritonclient_shim.notice.categories.TensorRTServerDeprecationWarning``.
    """
