"""Helpers of files that run alone in one thread, in place of those of the same names."""

import tritonclient.grpc as grpcclient

from tritonclient_shim.migrate.helpers.http_client import HttpClient
from tritonclient_shim.migrate.helpers.requests import http_options


def connect(protocol, url, **options):
    """Return a client for a protocol, by its name or by the number that it had."""
    if protocol in ("http", 0):
        return HttpClient(**http_options(url, options))
    if protocol not in ("grpc", 1):
        raise ValueError(f"unexpected protocol: {protocol}, expecting HTTP or gRPC")
    return grpcclient.InferenceServerClient(url, **options)
