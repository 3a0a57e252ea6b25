"""Real certificates for tests of TLS, made anew for every run."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import trustme


class Identity(NamedTuple):
    """Paths of a certificate chain and its unencrypted key."""

    certificate: str
    key: str


class Authority:
    """A certificate authority; ``roots`` is the path of its own certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.roots = str(folder / "roots.pem")
        self._authority.cert_pem.write_to_path(self.roots)

    def issue(self, *names: str) -> Identity:
        """Return a certificate for host names and addresses."""
        result = self._authority.issue_cert(*names)
        chain, key = self._folder / f"{names[0]}.pem", self._folder / f"{names[0]}.key"
        result.private_key_pem.write_to_path(str(key))
        for index, pem in enumerate(result.cert_chain_pems):
            pem.write_to_path(str(chain), append=index > 0)
        return Identity(str(chain), str(key))
