"""Certificates and keys of the settings, in the forms that the two protocols take."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import Iterator, NamedTuple

from tritonclient_shim.settings import Settings, SettingsError


class Pem(NamedTuple):
    """A PEM file as it was when it was read; one with other content is not equal to it."""

    path: str
    content: bytes


class Tls(NamedTuple):
    """What a client trusts and presents on a secure connection; part of the key of connections."""

    roots: Pem | None = None  # None: those that the system or gRPC trusts
    key: Pem | None = None
    certificate: Pem | None = None


DEFAULT = Tls()


def tls_of(settings: Settings) -> Tls:
    """Read the files that the settings name; SettingsError when one has become unreadable."""
    return Tls(
        _read(settings.root_certificates),
        _read(settings.client_key),
        _read(settings.client_certificate),
    )


def _read(path: str | None) -> Pem | None:
    if path is None:
        return None
    with unusable(f"The file {path!r}"), open(path, "rb") as file:
        return Pem(path, file.read())


@contextmanager
def unusable(what: str) -> Iterator[None]:
    """OSError, ssl.SSLError and ValueError of the block become a SettingsError about ``what``."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{what} cannot be used: {error}. Expected PEM files, keys unencrypted and fitting "
            "their certificates; see root_certificates, client_key and client_certificate in "
            "tritonclient-shim guide settings"
        ) from error


def client_context(tls: Tls) -> ssl.SSLContext:
    """Return the SSLContext of a client; SettingsError when a file is not what it should be."""
    if tls.roots is not None:
        with unusable(f"The root certificates {tls.roots.path!r}"):
            context = ssl.create_default_context(cafile=tls.roots.path)
    else:
        context = ssl.create_default_context()
    # Python 3.10 does so itself; OpenSSL alone may go down to TLS 1.0.
    context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
    if tls.certificate is not None and tls.key is not None:
        what = f"The client certificate {tls.certificate.path!r} with key {tls.key.path!r}"
        with unusable(what):  # a password, so that nobody is asked for one on the terminal
            context.load_cert_chain(tls.certificate.path, tls.key.path, password="")
    return context
