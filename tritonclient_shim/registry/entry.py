"""One entry of the registry: a legacy symbol or usage pattern, and what takes its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The kinds of entries: a symbol that programs call or name, a usage pattern that the arguments
#: of a call show, an import, and what Python or NumPy have removed since v1's time.
SYMBOL, ARGUMENT, IMPORT, REMOVED = "symbol", "argument", "import", "removed"


def anchor_of(heading: str) -> str:
    """Heading of a Markdown file → its anchor, as GitHub makes it."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


#: The ids that ``rewrite/rules`` has a rule for, or that go with the call that has one.
AUTOMATIC = frozenset(
    f"TS{number:03}"
    for number in (
        *(1, 2, 3, 4, 9, 10, 11, 15, 16, 17, 20, 21, 22, 25, 26, 30, 31, 35, 36, 37),
        *(40, 41, 43, 44, 45, *range(50, 64), 65, 66, *range(81, 86)),
        *(*range(101, 107), *range(109, 117), 201, 203),
    )
)


@dataclass(frozen=True)
class RegistryEntry:
    """What a legacy use is and what replaces it.

    ``client`` in the successors is an ``InferenceServerClient`` of ``tritonclient.grpc`` or
    ``tritonclient.http``, ``model`` a ``pytriton.client.ModelClient``; '' where there is none.
    """

    id: str
    symbol: str  # dotted, such as tensorrtserver.api.InferContext.run
    grpc: str
    http: str
    pytriton: str
    heading: str  # of the section of migration_guide.md that explains it
    since: str = "1.15"  # the release of v1 that it is deprecated with; 1.15 is the last one
    kind: str = SYMBOL
    counted: bool = False  # each call is noticed; other entries are found by arguments or `scan`
    shows: str = ""  # what the guide's code about it contains, where that is not its own name

    @property
    def automatic(self) -> bool:
        """Whether ``migrate`` rewrites such uses, where it knows enough of the file."""
        return self.id in AUTOMATIC

    @property
    def anchor(self) -> str:
        """The anchor of its section of migration_guide.md."""
        return anchor_of(self.heading)

    @property
    def guide(self) -> str:
        """The command that prints the section of migration_guide.md that explains it."""
        return f"tritonclient-shim guide {self.anchor}"

    @property
    def shown_by(self) -> str:
        """What the guide's code before contains if it is about this entry."""
        return self.shows or re.split(r"[.(]", self.symbol.rstrip("=)"))[-1]

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
    heading: str,
    since: str = "1.15",
    kind: str = SYMBOL,
    counted: bool = False,
    shows: str = "",
) -> RegistryEntry:
    """An entry whose successor reads the same on gRPC and HTTP."""
    return RegistryEntry(
        id, symbol, successor, successor, pytriton, heading, since, kind, counted, shows
    )


#: What v1's ``serialize_string_tensor`` becomes. Its result had its size as ``nbytes``; the
#: successor's is an array of one object, whose ``nbytes`` is the size of a pointer.
SERIALISED = (
    "tritonclient.utils.serialize_byte_tensor(array), whose size is "
    "tritonclient.utils.serialized_byte_size(...) of it"
)
