"""v1's wire protocol, HTTP and gRPC, in front of a v2 server (docs/v1-behaviour.md §9).

This package encodes replies as v1's server did. :mod:`tritonclient_shim.service` makes their
content. Importing this package imports neither aiohttp nor grpc.
"""
