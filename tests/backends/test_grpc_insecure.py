"""``insecure`` over gRPC: the certificate that a server presents is trusted, whatever is in it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.certificates import Identity
from tests.grpc_listener import Listener, server_credentials
from tritonclient_shim.backends.grpc import open_backend
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.settings import Settings


def self_signed(folder: Path, names: list[Any]) -> Identity:
    """A certificate of ``server.test``, and these alternative names."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server.test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now - day, now + day)
    if names:
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    paths = Identity(str(folder / "certificate.pem"), str(folder / "certificate.key"))
    pem = serialization.Encoding.PEM
    Path(paths.certificate).write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    Path(paths.key).write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


@pytest.mark.parametrize(
    "names",
    [[], [x509.DNSName("*.server.test")], [x509.RFC822Name("a@b.test"), x509.DNSName("b.test")]],
    ids=["common name", "any host", "host after somebody"],
)
def test_names_of_a_certificate(tmp_path: Path, names: list[Any]) -> None:
    """A certificate without a host's name among its alternative names has its common name."""
    with Listener(server_credentials(self_signed(tmp_path, names))) as listener:
        endpoint = Endpoint(GRPC, listener.address, secure=True)
        assert open_backend(endpoint, (), Settings(insecure=True)).live()
