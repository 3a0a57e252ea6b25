"""Control calls over HTTP, and tritonclient's client on a backend's connections."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import pytest
from tritonclient.utils import InferenceServerException

from tests.backends.scripted_server import ScriptedServer, http
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import ForeignError, ServerError
from tritonclient_shim.core.model import Endpoint, IndexRow, ModelStatistics

NAME = "a b/c%d:é"
QUOTED = b"a%20b%2Fc%25d%3A%C3%A9"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Yield a server that refuses every request as a v2 server would."""
    with ScriptedServer(lambda request: http(400, b'{"error": "no"}')) as refusing:
        yield refusing


@pytest.fixture
def backend(server: ScriptedServer) -> Iterator[Backend]:
    """Yield a backend on this server."""
    opened = open_backend(Endpoint("http", server.address))
    yield opened
    opened.close()


@contextmanager
def answering(answer: bytes) -> Iterator[Backend]:
    """Yield a backend on a server with one reply to everything."""
    with ScriptedServer(lambda request: answer) as server:
        backend = open_backend(Endpoint("http", server.address))
        yield backend
        backend.close()


def test_names_are_quoted_once(server: ScriptedServer, backend: Backend) -> None:
    """Each name is in the URL quoted once, because servers do not decode names."""
    # docs/v2-mapping.md §8
    calls = (
        lambda: backend.model_config(NAME, "1"),
        lambda: backend.statistics(NAME),
        lambda: backend.load(NAME),
        lambda: backend.unload(NAME),
        lambda: backend.register_system(NAME, "/k", 1),
        lambda: backend.register_cuda(NAME, bytes(64), 0, 1),
        lambda: backend.unregister(NAME),
    )
    for call in calls:
        with pytest.raises(ServerError, match="^no$"):
            call()
    paths = [request.split(b" ")[1] for request in server.requests]
    assert paths == [
        b"/v2/models/%s/versions/1/config" % QUOTED,
        b"/v2/models/%s/stats" % QUOTED,
        b"/v2/repository/models/%s/load" % QUOTED,
        b"/v2/repository/models/%s/unload" % QUOTED,
        b"/v2/systemsharedmemory/region/%s/register" % QUOTED,
        b"/v2/cudasharedmemory/region/%s/register" % QUOTED,
        b"/v2/systemsharedmemory/region/%s/unregister" % QUOTED,
    ]


def test_users_client_behaves_as_tritonclients(server: ScriptedServer, backend: Backend) -> None:
    """The users' client raises tritonclient's exceptions and quotes names as tritonclient does."""
    client = backend.client()
    with pytest.raises(InferenceServerException) as caught:
        client.load_model("a%b")
    assert (caught.value.status(), caught.value.message()) == ("400", "no")
    assert server.requests[-1].startswith(b"POST /v2/repository/models/a%25b/load ")
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        client.is_server_live()


COMMANDS = (
    lambda backend: backend.load("m"),
    lambda backend: backend.unload("m"),
    lambda backend: backend.register_system("r", "/k", 1),
    lambda backend: backend.register_cuda("r", bytes(64), 0, 1),
    lambda backend: backend.unregister("r"),
    lambda backend: backend.unregister_all(),
)
LISTS = (
    lambda backend: backend.repository_index(),
    lambda backend: backend.shm_status(),
)
HTML = "Content-Type: text/html"


@pytest.mark.parametrize("body", [b"<html>hi</html>", b"OK", b"true", b"[]", b'{"error": "no"}'])
def test_commands_believe_no_foreign_answer(body: bytes) -> None:
    """A 200 whose body no v2 server sends means that the command has failed."""
    # docs/v1-behaviour.md §6.4
    with answering(http(200, body)) as backend:
        for command in COMMANDS:
            with pytest.raises(ForeignError):
                command(backend)


@pytest.mark.parametrize("body", [b"", b"\r\n", b"{}", b'{"name": "m", "load": true}'])
def test_commands_believe_triton_behind_anything(body: bytes) -> None:
    """Triton's empty reply, another v2 server's object, and a proxy's version are successes."""
    for headers in ((), (HTML,)):
        with answering(http(200, body, *headers)) as backend:
            assert [command(backend) for command in COMMANDS] == [None] * len(COMMANDS)


@pytest.mark.parametrize("body", [b"{}", b'""', b'{"models": []}', b"null"])
def test_lists_are_lists(body: bytes) -> None:
    """Triton's index and regions are lists; an empty object is a foreign server's."""
    # docs/v1-behaviour.md §6.3
    with answering(http(200, body)) as backend:
        for ask in LISTS:
            with pytest.raises(ForeignError):
                ask(backend)
    with answering(http(200, b"[]")) as backend:
        assert [ask(backend) for ask in LISTS] == [(), ()]


@pytest.mark.parametrize("body", [b"{}", b'{"model_stats": {}}'])
def test_other_objects_are_foreign(body: bytes) -> None:
    """A configuration without a name, and statistics without a list, are a foreign server's."""
    # docs/v1-behaviour.md §3.1
    with answering(http(200, body)) as backend:
        for ask in (lambda: backend.model_config("m"), lambda: backend.statistics("m")):
            with pytest.raises(ForeignError):
                ask()


def test_rows_of_other_v2_servers() -> None:
    """A version may be missing, null or a number, and a count a text, without a Python error."""
    row = b'{"name":"m","version":%s,"state":"READY"}'
    for version, known in ((b"null", ""), (b"2", "2"), (b'"v2.0"', "v2.0")):
        with answering(http(200, b"[" + row % version + b"]")) as backend:
            assert backend.repository_index() == (IndexRow("m", known, "READY"),)
        stats = b'{"model_stats":[{"name":"m","version":%s,"inference_count":"7"}]}' % version
        with answering(http(200, stats)) as backend:
            assert backend.statistics("m") == (ModelStatistics("m", known, inference_count=7),)
