"""Helpers of files that send no headers of their own, in place of those of the same names."""

import threading

import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient

from tritonclient_shim.migrate.helpers.requests import http_options


def http_client(url, **options):
    """Return a client over HTTP."""
    return httpclient.InferenceServerClient(**http_options(url, options))


class ThreadClient(threading.local, httpclient.InferenceServerClient):
    """A client with a connection for each thread, which tritonclient.http needs."""

    def __init__(self, url, **options):
        httpclient.InferenceServerClient.__init__(self, **http_options(url, options))


def connect(protocol, url, **options):
    """Return a client for a protocol, by its name or by the number that it had."""
    if protocol in ("http", 0):
        return ThreadClient(url, **options)
    if protocol not in ("grpc", 1):
        raise ValueError(f"unexpected protocol: {protocol}, expecting HTTP or gRPC")
    return grpcclient.InferenceServerClient(url, **options)
