"""Credentials of secure gRPC channels."""

from __future__ import annotations

import socket
import ssl
from typing import Any
from urllib.parse import unquote

import grpc

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.grpc.errors import CONNECT_FAILED, StatusCode, transport_fault
from tritonclient_shim.backends.grpc.options import Option
from tritonclient_shim.backends.tls import Tls
from tritonclient_shim.core.addresses import split_port
from tritonclient_shim.core.errors import TransportKind

_PARTIAL_CHAIN = 0x80000  # X509_V_FLAG_PARTIAL_CHAIN; the ssl module names it since 3.10


def check(files: Tls) -> None:
    """SettingsError unless the files are what they should be; gRPC itself would only log it."""
    if files != tls.DEFAULT:
        tls.client_context(files)


def credentials(target: str, files: Tls, timeout: float | None) -> tuple[Any, list[Option]]:
    """Channel credentials for a target, and the channel arguments that belong to them."""
    roots = _content(files.roots)
    options: list[Option] = []
    if files.insecure:
        roots, name = _server_certificate(target, files, timeout)
        options = [("grpc.ssl_target_name_override", name)]
    made = grpc.ssl_channel_credentials(roots, _content(files.key), _content(files.certificate))
    return made, options


def _content(pem: tls.Pem | None) -> bytes | None:
    return None if pem is None else pem.content


def _server_certificate(target: str, files: Tls, timeout: float | None) -> tuple[bytes, str]:
    """The certificate that the server presents now, and a name that it is valid for.

    gRPC cannot be told to verify nothing; it is told to trust this certificate.
    """
    address, context = _host_and_port(target), tls.client_context(files)
    try:
        pem = ssl.DER_cert_to_PEM_cert(_peer_certificate(address, timeout, context, True) or b"")
        # the ssl module reads only a certificate that it trusts
        context.load_verify_locations(cadata=pem)
        context.verify_flags |= _PARTIAL_CHAIN
        context.verify_mode = ssl.CERT_REQUIRED
        return pem.encode("ascii"), _name_in(_peer_certificate(address, timeout, context, False))
    except (OSError, ValueError) as error:
        kind = TransportKind.UNREACHABLE
        raise transport_fault(StatusCode.UNAVAILABLE, CONNECT_FAILED, kind) from error


def _peer_certificate(
    address: tuple[str, int], timeout: float | None, context: ssl.SSLContext, binary: bool
) -> Any:
    plain = socket.create_connection(address, timeout)
    with plain, context.wrap_socket(plain, server_hostname=address[0]) as secure:
        return secure.getpeercert(binary_form=binary)


def _name_in(certificate: Any) -> str:
    for kind, name in certificate.get("subjectAltName", ()):
        if kind in ("DNS", "IP Address"):
            return str(name).replace("*", "any", 1)
    names = dict(pair for part in certificate.get("subject", ()) for pair in part)
    return str(names.get("commonName", ""))


def _host_and_port(target: str) -> tuple[str, int]:
    """The first address of a target."""
    scheme, _, rest = target.partition(":")
    address = rest.lstrip("/") if scheme == "dns" else rest
    host, port = split_port(unquote(address.partition(",")[0]))
    return host, int(port)
