"""One entry of the registry: a legacy symbol or usage pattern, and what takes its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

API = "tensorrtserver.api."
# The kinds of entries:
SYMBOL = "symbol"  # that programs call or name
ARGUMENT = "argument"  # a usage pattern, which the arguments of a call show
IMPORT = "import"
REMOVED = "removed"  # from Python or NumPy since v1's time


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading of a Markdown file, as GitHub makes it."""
    letters = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return letters.replace(" ", "-")


@dataclass(frozen=True)
class RegistryEntry:
    """What a legacy use is and what replaces it.

    ``client`` in the successors is an ``InferenceServerClient`` of ``tritonclient.grpc`` or
    ``tritonclient.http``, ``model`` a ``pytriton.client.ModelClient``; '' where there is none.
    """

    id: str
    symbol: str  # dotted, such as tensorrtserver.api.InferContext.run
    heading: str  # of the section of migration_guide.md that explains it
    grpc: str
    http: str
    pytriton: str = ""
    since: str = "1.15"  # the release of v1 that it is deprecated with; 1.15 is the last one
    kind: str = SYMBOL
    counted: bool = False  # each call is noticed; other entries are found by arguments or `scan`
    shows: str = ""  # what the guide's code about it contains, where that is not its own name

    @property
    def anchor(self) -> str:
        """Return the anchor of its section of migration_guide.md."""
        return anchor_of(self.heading)

    @property
    def guide(self) -> str:
        """Return the command that prints its section of migration_guide.md."""
        return f"tritonclient-shim guide {self.anchor}"

    @property
    def shown_by(self) -> str:
        """Return what the guide's v1 code contains if it is about this entry."""
        return self.shows or re.split(r"[.(]", self.symbol.rstrip("=)"))[-1]

    @property
    def successor(self) -> str:
        """Return the successor in one line, for notices."""
        if self.grpc == self.http:
            return self.grpc
        return f"{self.grpc} (gRPC) or {self.http} (HTTP)"


def entry(
    id: str, symbol: str, heading: str, grpc: str, http: str = "", pytriton: str = "", **more: Any
) -> RegistryEntry:
    """Return an entry; without ``http`` its successor reads the same on gRPC and HTTP."""
    return RegistryEntry(id, symbol, heading, grpc, http or grpc, pytriton, **more)


def of_api(id: str, name: str, *rest: str, **more: Any) -> RegistryEntry:
    """Return the entry of a name in ``tensorrtserver.api``."""
    return entry(id, API + name, *rest, **more)
