"""The one exception for what a machine lacks."""

from __future__ import annotations


class MissingPrerequisite(RuntimeError):
    """The machine lacks something the server needs; the text names it and what to do."""
