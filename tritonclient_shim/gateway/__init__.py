"""v1's wire protocol, HTTP and gRPC, in front of a v2 server (docs/v1-behaviour.md §9).

This package brings answers into the form in which v1's server sent them; what they say comes
from :mod:`tritonclient_shim.service`. Importing it imports neither aiohttp nor grpc.
"""
