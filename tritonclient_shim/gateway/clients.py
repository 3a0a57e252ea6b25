"""TLS for the clients of both fronts, and the headers that go on to Triton."""

from __future__ import annotations

import ssl
from typing import Any, Iterable, Mapping

import grpc

from tritonclient_shim.backends.base import CallHeaders
from tritonclient_shim.gateway.options import GatewayOptions


def tls_context(options: GatewayOptions) -> ssl.SSLContext | None:
    """Return the context for HTTP, None without TLS. Raise RuntimeError for an unusable file."""
    if options.tls_certificate is None or options.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    files = f"--tls-certificate {options.tls_certificate} with --tls-key {options.tls_key}"
    try:
        # with a password, OpenSSL does not ask for it on the terminal
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


def grpc_credentials(options: GatewayOptions) -> Any:
    """Return gRPC's credentials, None without TLS. Raise RuntimeError for an unusable file."""
    if tls_context(options) is None:  # gRPC itself does not report unusable files
        return None
    chain = (_content(options.tls_key), _content(options.tls_certificate))
    roots = _content(options.tls_client_roots)
    return grpc.ssl_server_credentials([chain], roots, roots is not None)


def _content(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


def http_headers(headers: Mapping[str, str], names: Iterable[str]) -> CallHeaders:
    """Return the headers of a request that go on to Triton."""
    pairs = [(name, headers[name]) for name in names if name in headers]
    return tuple(pair for pair in pairs if _can_be_sent(pair[1]))


def grpc_metadata(context: Any, names: Iterable[str]) -> CallHeaders:
    """Return the metadata of a call that goes on to Triton."""
    if not names:
        return ()
    pairs = [(name, value) for name, value in context.invocation_metadata() or () if name in names]
    return tuple(pair for pair in pairs if isinstance(pair[1], bytes) or _can_be_sent(pair[1]))


def _can_be_sent(value: str) -> bool:
    """True for printable ASCII: both protocols carry it."""
    return value.isascii() and value.isprintable()
