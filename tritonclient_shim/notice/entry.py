"""One row of the registry: a legacy symbol or habit, and what takes its place."""

from __future__ import annotations

from dataclasses import dataclass

GUIDE = "migration_guide.md"

#: Kinds of rows: something one calls or names, a habit of arguments, an import, and what
#: Python or NumPy took away from scripts of v1's time.
SYMBOL, ARGUMENT, IMPORT, REMOVED = "symbol", "argument", "import", "removed"


@dataclass(frozen=True)
class Entry:
    """What a legacy use is and what replaces it.

    ``client`` in the successors is an ``InferenceServerClient`` of ``tritonclient.grpc`` or
    ``tritonclient.http``, ``model`` a ``pytriton.client.ModelClient``; '' where there is none.
    """

    id: str
    symbol: str  # dotted, below "tensorrtserver." for what lives there
    grpc: str
    http: str
    pytriton: str
    automatic: bool  # a program could rewrite it without knowing the data that flows
    heading: str  # of migration_guide.md
    since: str = "1.15"  # deprecated with this release of v1; 1.15 is its last
    kind: str = SYMBOL
    counted: bool = False  # noticed when called; the others are found by `scan` alone

    @property
    def anchor(self) -> str:
        """The heading's anchor, as GitHub makes it."""
        kept = "".join(c for c in self.heading.lower() if c.isalnum() or c in " -_")
        return kept.replace(" ", "-")

    @property
    def guide(self) -> str:
        """Where the guide explains it."""
        return f"{GUIDE}#{self.anchor}"

    @property
    def successor(self) -> str:
        """The successor in one line, for notices."""
        if self.grpc == self.http:
            return self.grpc
        return f"{self.grpc} (gRPC) or {self.http} (HTTP)"


def both(
    id: str,
    symbol: str,
    successor: str,
    pytriton: str = "",
    *,
    automatic: bool = True,
    heading: str,
    since: str = "1.15",
    kind: str = SYMBOL,
    counted: bool = False,
) -> Entry:
    """A row whose successor reads the same on gRPC and HTTP."""
    return Entry(
        id, symbol, successor, successor, pytriton, automatic, heading, since, kind, counted
    )
