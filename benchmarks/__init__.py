"""The facade against the same work hand-written on tritonclient, on one real server.

Beside it runs *bare*: the facade's requests, ready made, over the same transport, their answers
decoded by nobody. The facade's goals are to stay below the hand port, and within 1.15 × bare.

``scripts/bench`` runs everything; ``python -m benchmarks --help`` has the choices. Programs
are run in turns, and only ratios of neighbouring runs are reported: the machine's own speed,
and its noise, are in both halves of every pair. Short calls are timed twice: each by itself, right
after a collection of garbage, and 20 in a row, as users call them.
"""
