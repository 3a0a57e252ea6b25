"""Helpers of files of one thread without headers, in place of those of the same names."""

from tritonclient_shim.migrate.helpers.http_client import HttpClient


def http_client(url, **options):
    """Return a client over HTTP. Its time limits are longer than a model takes."""
    scheme, _, address = url.rpartition("://")
    options.setdefault("ssl", scheme == "https")
    options.update(connection_timeout=300, network_timeout=86400)
    return HttpClient(address, **options)
