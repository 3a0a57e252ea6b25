"""The translation behind the ``tensorrtserver`` facade: v1 requests in, KServe v2 calls out.

``configure`` changes how servers are reached: ``tritonclient-shim guide settings`` describes the
settings. ``unwrap`` returns the tritonclient client of a context. Both are imported at their first
use, because ``import tensorrtserver.api`` must stay cheap. Each front (facade, stub, gateway,
command line) imports only the folders that it needs. ARCHITECTURE.md at the top of the repository
draws the folders and the direction of flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonclient_shim.session.server import unwrap as unwrap
    from tritonclient_shim.settings import configure as configure

__version__ = "0.3.0"

_HOMES = {"configure": "settings", "unwrap": "session.server"}

__all__ = ["__version__", "configure", "unwrap"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
