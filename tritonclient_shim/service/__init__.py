"""v1's service on top of a v2 server: what the raw stub and the gateway both answer with.

Requests and responses are v1's protobuf messages; refusals are part of the response
(``request_status``), as in v1 (docs/v1-behaviour.md §9.2). What keeps the v2 server from answering
at all is raised as InferenceServerException of the client family: each front has its own way to say
it.
"""
