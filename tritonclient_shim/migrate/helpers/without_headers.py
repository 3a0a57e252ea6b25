"""Helpers of files that send no headers of their own, in place of those of the same names."""

import threading

import tritonclient.grpc as grpcclient

from tritonclient_shim.migrate.helpers.http_client import HttpClient


class ThreadClient(threading.local, HttpClient):
    """A client with a connection for each thread, which tritonclient.http needs."""


def http_client(url, **options):
    """Return a client over HTTP. Its time limits are longer than a model takes."""
    scheme, _, address = url.rpartition("://")
    options.setdefault("ssl", scheme == "https")
    options.update(connection_timeout=300, network_timeout=86400)
    return ThreadClient(address, **options)


def connect(protocol, url, **options):
    """Return a client for a protocol."""
    if protocol == "http":
        return http_client(url, **options)
    if protocol != "grpc":
        raise ValueError(f"unexpected protocol: {protocol}, expecting HTTP or gRPC")
    return grpcclient.InferenceServerClient(url, **options)
