"""The facade against the same work hand-written on tritonclient, on one real server.

Beside it runs *bare*. It sends the facade's finished requests over the same transport, and ignores
the replies. The facade's goals are to stay below the hand port, and within 1.15 × bare.

``scripts/bench`` runs everything; ``python -m benchmarks --help`` has the choices. Programs run in
turns. Only ratios of neighbouring runs are reported, because the machine's speed and noise are in
both halves of a pair. Short calls are timed twice: alone, right after a garbage collection, and 20
in a row, as users call them.
"""
