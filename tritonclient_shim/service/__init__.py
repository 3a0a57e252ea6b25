"""v1's service on top of a v2 server, for the raw stub and the gateway.

Requests and responses are v1's protobuf messages; refusals are part of the response
(``request_status``), as in v1 (docs/v1-behaviour.md §9.2). If the v2 server does not answer,
the service raises InferenceServerException of the client family. Each front reports it differently.
"""
