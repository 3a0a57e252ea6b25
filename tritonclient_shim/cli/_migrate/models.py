"""Models' configurations, from a server or from files."""

from __future__ import annotations

from typing import Any, Mapping, Sequence


def configurations(server: str, files: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Name of a model → its configuration."""
    return {}
