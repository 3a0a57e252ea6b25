"""Helpers of files that run alone in one thread, in place of those of the same names."""

from tritonclient_shim.migrate.helpers.http_client import HttpClient
from tritonclient_shim.migrate.helpers.requests import with_headers


def http_client(url, headers=None, **options):
    """Return a client over HTTP. Its time limits are longer than a model takes."""
    scheme, _, address = url.rpartition("://")
    options.setdefault("ssl", scheme == "https")
    options.update(connection_timeout=300, network_timeout=86400)
    return with_headers(HttpClient(address, **options), headers)
