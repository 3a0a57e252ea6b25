"""One row of the registry: a legacy symbol or habit, and what takes its place."""

from __future__ import annotations

from dataclasses import dataclass

from tritonclient_shim.registry.guide import FILE, anchor_of

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
        """The anchor of its section of the guide."""
        return anchor_of(self.heading)

    @property
    def section(self) -> str:
        """Where the guide explains it, for readers of the sources."""
        return f"{FILE}#{self.anchor}"

    @property
    def guide(self) -> str:
        """The command that prints where the guide explains it, for everyone."""
        return f"tritonclient-shim guide {self.anchor}"

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
