"""A server's certificate that is exchanged while contexts are open."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Iterator

import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext
from tests.certificates import Authority, Identity
from tests.relays import Relay
from tests.reliability.identified_calls import KINDS, ask, ask_until, numbers
from tests.reliability.server_process import MODEL

LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")
REFUSED = (
    "HTTP client failed: SSL peer certificate or SSH remote key was not OK",
    "GRPC client failed: 14: Connect Failed",
)


class Front(Relay):
    """A TLS terminator whose certificate can be exchanged."""

    def __init__(self, target: str, identity: Identity) -> None:
        super().__init__(target, self._server_context(identity))

    def __enter__(self) -> Front:
        return self

    @staticmethod
    def _server_context(identity: Identity) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(*identity)
        return context

    def exchange(self, identity: Identity) -> None:
        """Use this certificate for new connections."""
        self._context = self._server_context(identity)


@pytest.fixture
def authorities(tmp_path: Path) -> Iterator[tuple[Authority, Authority]]:
    """Return a trusted authority and an untrusted one."""
    folders = [tmp_path / "trusted", tmp_path / "stranger"]
    for folder in folders:
        folder.mkdir()
    trusted, stranger = map(Authority, folders)
    tritonclient_shim.configure(tls="on", root_certificates=trusted.roots)
    yield trusted, stranger
    tritonclient_shim.configure(tls=None, root_certificates=None)


def is_of_new_connection(message: str) -> bool:
    """True unless the old connection's end caused this message of a call."""
    return message in REFUSED or not message.startswith(LOST)


def after_cut(front: Front, context: InferContext) -> str:
    """Return the message of a call on a new connection.

    An extra call may be needed to notice that the old one ended.
    """
    front.cut()
    return ask_until(context, "sync", is_of_new_connection).message


@pytest.mark.parametrize("kind", KINDS)
def test_exchanged(kind: str, triton: Any, authorities: tuple[Authority, Authority]) -> None:
    """An open connection continues; the next connection is checked against the new certificate."""
    protocol, streaming = KINDS[kind]
    trusted, stranger = authorities
    with Front(triton.url(protocol), trusted.issue("127.0.0.1")) as front, InferContext(
        front.address, protocol, MODEL, streaming=streaming
    ) as context:
        for authority, message in ((trusted, ""), (stranger, REFUSED[protocol])):
            assert ask(context, "sync", next(numbers)).message == ""
            front.exchange(authority.issue("127.0.0.1", "localhost"))
            assert ask(context, "sync", next(numbers)).message == ""
            assert after_cut(front, context) == message
        front.exchange(trusted.issue("127.0.0.1"))
        # gRPC reconnects only a while after a refusal
        assert ask_until(context, "sync", "".__eq__, 300).message == ""
