"""Servers of the tests of backends."""

from __future__ import annotations

from typing import Iterator

import pytest

from tests.backends.scripted_server import ScriptedServer, http

REPLY = http(200, b'{"model_name": "m", "outputs": []}')


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Yield a server that answers every request with a reply."""
    with ScriptedServer(lambda request: REPLY) as scripted:
        yield scripted
