"""The default requirements of a secure connection."""

from __future__ import annotations

import ssl

from tritonclient_shim.backends import tls


def test_defaults() -> None:
    """A certificate for the host's name and at least TLS 1.2 are required, on every Python."""
    context = tls.client_context(tls.DEFAULT)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
