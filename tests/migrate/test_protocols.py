"""Protocols as arguments, and methods that are called on the class of a context."""

from __future__ import annotations

from tests.migrate.sources_migrated import STAR, body, migrated, todo


def test_protocol_by_its_name() -> None:
    """A protocol that is written down as text becomes this text, in lower case."""
    assert body('print(is_up(ProtocolType.from_str("gRPC")))\n', unsafe=False) == (
        'print(is_up("grpc"))\n'
    )


def test_use_in_an_argument_that_goes() -> None:
    """What stands in the protocol's argument goes with it, where the protocol is chosen."""
    source = f"{STAR}p = given()\nh = ServerHealthContext(u, ProtocolType(p))\nh.is_live()\n"
    chosen = migrated(source, "grpc")
    assert todo(chosen) == []
    assert "TODO" not in chosen.after.decode()
    assert todo(migrated(source)) == []
    assert "CLIENTS[ProtocolType(p)]" in migrated(source).after.decode()


def test_method_that_is_called_on_its_class() -> None:
    """Without an object no client can take its place, also where the file makes only one."""
    made = "s = ServerStatusContext(u, 1)\n"
    source = f"{STAR}{made}print(ServerStatusContext.get_server_status())\n"
    found = migrated(source)
    assert "ServerStatusContext.get_server_status()" in found.after.decode()
    assert "3:TS026" in todo(found)
