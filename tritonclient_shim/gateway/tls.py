"""TLS of the clients' connections, over HTTP and gRPC, and the certificates that clients show."""

from __future__ import annotations

import ssl
from typing import Any

import grpc

from tritonclient_shim.gateway.options.table import GatewayOptions


def context_of(options: GatewayOptions) -> ssl.SSLContext | None:
    """For HTTP; None without TLS. RuntimeError if a file is not what it should be."""
    if options.tls_certificate is None or options.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    files = f"--tls-certificate {options.tls_certificate} with --tls-key {options.tls_key}"
    try:
        # a password, so that nobody is asked for one on the terminal
        context.load_cert_chain(options.tls_certificate, options.tls_key, password="")
        if options.tls_client_roots is not None:
            files = f"--tls-client-roots {options.tls_client_roots}"
            context.load_verify_locations(options.tls_client_roots)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        raise RuntimeError(
            f"{files} cannot be used: {error}. Expected PEM files, a key that is not encrypted "
            "and belongs to the certificate"
        ) from None
    return context


def credentials_of_server(options: GatewayOptions) -> Any:
    """The same for gRPC, which does not tell of unusable files."""
    if context_of(options) is None:
        return None
    chain = (_content(options.tls_key), _content(options.tls_certificate))
    roots = _content(options.tls_client_roots)
    return grpc.ssl_server_credentials([chain], roots, roots is not None)


def _content(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()
