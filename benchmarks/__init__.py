"""The facade against the same work hand-written on tritonclient, on one real server.

``scripts/bench`` runs everything; ``python -m benchmarks --help`` has the choices. Programs
are run in turns, and only ratios of neighbouring runs are reported: the machine's own speed,
and its noise, are in both halves of every pair.
"""
