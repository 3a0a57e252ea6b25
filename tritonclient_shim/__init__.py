"""The translation behind the ``tensorrtserver`` facade: v1 requests in, KServe v2 calls out.

Nothing is imported here on purpose: ``import tensorrtserver.api`` must stay cheap, and
each front (facade, stub, gateway, command line) pulls in only the rooms that it needs.
ARCHITECTURE.md at the top of the repository draws the rooms and the direction of flow.
"""

__version__ = "0.1.0"
