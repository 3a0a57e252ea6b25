"""Helpers of files that send no headers of their own, in place of those of the same names."""

import threading

import tritonclient.grpc as grpcclient

from tritonclient_shim.migrate.helpers.http_client import HttpClient
from tritonclient_shim.migrate.helpers.requests import http_options


def http_client(url, **options):
    """Return a client over HTTP."""
    return HttpClient(**http_options(url, options))


class ThreadClient(threading.local, HttpClient):
    """A client with a connection for each thread, which tritonclient.http needs."""

    def __init__(self, url, **options):
        HttpClient.__init__(self, **http_options(url, options))


def connect(protocol, url, **options):
    """Return a client for a protocol, by its name or by the number that it had."""
    if protocol in ("http", 0):
        return ThreadClient(url, **options)
    if protocol not in ("grpc", 1):
        raise ValueError(f"unexpected protocol: {protocol}, expecting HTTP or gRPC")
    return grpcclient.InferenceServerClient(url, **options)
