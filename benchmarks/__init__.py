"""The facade compared with equal work hand-written on tritonclient, on a real server.

A third program is *bare*. It sends the facade's finished requests over the facade's transport, and
ignores the replies. The facade's goals are to stay below the hand port, and within 1.15 × bare.

``scripts/bench`` runs everything. ``python -m benchmarks --help`` has the choices. Programs run in
turns. Only ratios of neighbouring runs are reported. The machine's speed and noise affect both runs
of a pair. Short calls are timed twice: alone after a garbage collection, and 20 in a row, as in
loops of users.
"""
