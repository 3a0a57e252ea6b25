"""v1's wire protocol, HTTP and gRPC, in front of a v2 server (docs/v1-behaviour.md §9).

Answers are v1's in every detail that its clients look at; what they mean comes from
:mod:`tritonclient_shim.service`. Importing this package imports neither aiohttp nor grpc.
"""
