"""A server's certificate that is exchanged under contexts that are open."""

from __future__ import annotations

import ssl
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext
from tests.certificates import Authority, Identity
from tests.relays import Relay
from tests.reliability.figures import Tried
from tests.reliability.identified_calls import KINDS, Outcome, ask, numbers
from tests.reliability.server_process import MODEL

PROMISE = (
    "A certificate that is exchanged under an open context is checked at the next connection: one "
    "that is trusted goes unnoticed, another one is refused, and the context works when it is back"
)
LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")
REFUSED = (
    "HTTP client failed: SSL peer certificate or SSH remote key was not OK",
    "GRPC client failed: 14: Connect Failed",
)


class Front(Relay):
    """A TLS terminator whose certificate can be exchanged."""

    def __init__(self, target: str, identity: Identity) -> None:
        super().__init__(target, self._made(identity))

    def __enter__(self) -> Front:
        return self

    @staticmethod
    def _made(identity: Identity) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(*identity)
        return context

    def exchange(self, identity: Identity) -> None:
        """Show this certificate to whoever connects from now on."""
        self._context = self._made(identity)


@pytest.fixture
def authorities(tmp_path: Path) -> Iterator[tuple[Authority, Authority]]:
    """One that is trusted, and one that is not."""
    folders = [tmp_path / "trusted", tmp_path / "stranger"]
    for folder in folders:
        folder.mkdir()
    trusted, stranger = map(Authority, folders)
    tritonclient_shim.configure(tls="on", root_certificates=trusted.roots)
    yield trusted, stranger
    tritonclient_shim.configure(tls=None, root_certificates=None)


def after_cut(front: Front, context: InferContext) -> Outcome:
    """Make a call on a new connection; a call may have to notice first that the old one ended."""
    front.cut()
    for _ in range(50):
        outcome = ask(context, "sync", next(numbers))
        if outcome.message in REFUSED or not outcome.message.startswith(LOST):
            break
        time.sleep(0.1)
    return outcome


def works_again(context: InferContext) -> bool:
    """True if it does; gRPC connects again only a while after a refusal."""
    for _ in range(300):
        if not ask(context, "sync", next(numbers)).message:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_exchanged(
    kind: str, triton: Any, authorities: tuple[Authority, Authority], tried: Tried
) -> None:
    """A connection that stands goes on; the next one is judged by what the server shows then."""
    protocol, streaming = KINDS[kind]
    trusted, stranger = authorities
    with Front(triton.url(protocol), trusted.issue("127.0.0.1")) as front, InferContext(
        front.address, protocol, MODEL, streaming=streaming
    ) as context:
        for authority, message in ((trusted, ""), (stranger, REFUSED[protocol])):
            assert ask(context, "sync", next(numbers)).message == ""
            front.exchange(authority.issue("127.0.0.1", "localhost"))
            assert ask(context, "sync", next(numbers)).message == ""
            assert after_cut(front, context).message == message
        front.exchange(trusted.issue("127.0.0.1"))
        assert works_again(context)
    tried(PROMISE, 2, "exchanges")
