"""v1's wire protocol, HTTP and gRPC, in front of a v2 server (docs/v1-behaviour.md §9).

This package gives answers the form of v1's server. Their content comes from
:mod:`tritonclient_shim.service`. Importing it imports neither aiohttp nor grpc.
"""
