"""Over HTTP, tritonclient raises OSError if a connection fails. Migrated programs do as before."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo
from tritonclient_shim.cli import main

_ASK = """import sys
import numpy as np
from tensorrtserver.api import *

def ask(url):
    ctx = InferContext(url, ProtocolType.HTTP, "identity_int32")
    row = np.zeros(1, np.int32)
    return ctx.run({"INPUT0": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})["OUTPUT0"][0]

"""
_FILES = """
for url in sys.argv[1], "localhost:1":
    for name in __file__, "missing":
        try:
            with open(name):
                print(ask(url))
        except InferenceServerException:
            print("server")
        except IOError:
            print("file")
"""
_LOADED = """
def attempt(name):
    try:
        np.fromfile(name)
        return ask("localhost:1")
    except InferenceServerException as error:
        return "server " + str(len(error.message()) > 0)
    except Exception as error:
        return type(error).__name__

for name in __file__, "missing":
    print(attempt(name))
"""
_CLASSES = """
for context in ServerHealthContext, ServerStatusContext, ModelControlContext:
    ctx = context("localhost:1", ProtocolType.from_str(sys.argv[1]))
    try:
        if context is ServerHealthContext:
            ctx.is_live()
        elif context is ServerStatusContext:
            ctx.get_server_status()
        else:
            ctx.load("identity_int32")
    except InferenceServerException:
        print("lost")
"""
_LOST = """import sys
from tensorrtserver.api import InferenceServerException
from ask import ask

try:
    ask("localhost:1")
except InferenceServerException as error:
    print("lost", len(error.message()) > 0)
"""
_TOGETHER = _FILES.replace(" InferenceServerException", " (InferenceServerException, KeyError)")
PROGRAMS = {
    "files in one file": {"script.py": _ASK + _FILES},
    "files in one file, in a tuple": {"script.py": _ASK + _TOGETHER},
    "files that NumPy reads": {"script.py": _ASK + _LOADED},
    "files in two files": {
        "ask.py": _ASK,
        "script.py": f"import sys\n{STAR}from ask import ask\n{_FILES}",
    },
    "connection in two files": {"ask.py": _ASK, "script.py": _LOST},
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_errors_of_connections_and_files(
    program: str, triton: TritonServer, tmp_path: Path
) -> None:
    """A program that catches errors of the server and of files prints as before."""
    for name, text in PROGRAMS[program].items():
        (tmp_path / name).write_text(text)
    before = run(tmp_path / "script.py", triton.http)
    assert before.status == 0, before.output
    main(["migrate", "--write", str(tmp_path)])
    assert run(tmp_path / "script.py", triton.http) == before


def test_nothing_is_left() -> None:
    """A program that catches errors of the server and of files is rewritten whole."""
    assert todo(migrated(_ASK + _FILES, unsafe=False)) == []


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_other_contexts(protocol: str, tmp_path: Path) -> None:
    """Without a server, each context of a protocol chosen at run time raises v1's exception."""
    (tmp_path / "script.py").write_text(f"import sys\n{STAR}{_CLASSES}")
    before = run(tmp_path / "script.py", protocol)
    assert before.output == "lost\n" * 3
    main(["migrate", "--write", "--unsafe", str(tmp_path)])
    assert run(tmp_path / "script.py", protocol) == before


_LATE = """
ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int32")
row = np.zeros(1, np.int32)
try:
    ctx.run({"INPUT0": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
except InferenceServerException:
    print("a request failed")
"""


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_error_of_a_constructor(protocol: str, tmp_path: Path) -> None:
    """Without a server, the constructor fails; no handler of a request takes its error."""
    script = tmp_path / "script.py"
    script.write_text(f"import sys\nimport numpy as np\n{STAR}{_LATE}")
    before = run(script, "localhost:1", protocol)
    assert before.status == 1 and "a request failed" not in before.output
    main(["migrate", "--write", str(script)])
    after = run(script, "localhost:1", protocol)
    assert after.status == 1 and "a request failed" not in after.output


_RETRYING = """
for attempt in range(2):
    try:
        print(ask(sys.argv[1]))
    except InferenceServerException as error:
        print("failed", bool(error.message()))
"""


@pytest.mark.parametrize(
    "reply",
    [
        b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        b"Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
    ],
    ids=["cut", "page"],
)
def test_reply_that_is_no_server_s(reply: bytes, tmp_path: Path) -> None:
    """A reply that breaks off, or is a page, raises v1's exception, which a retry catches."""
    script = tmp_path / "script.py"
    script.write_text(_ASK + _RETRYING)
    main(["migrate", "--write", str(script)])
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server, reply), daemon=True).start()
        url = f"127.0.0.1:{server.getsockname()[1]}"
        assert run(script, url) == (0, "failed True\n" * 2)


def _answer(server: socket.socket, rest: bytes) -> None:
    """Answer every connection with the rest of a reply, until the server is closed."""
    with suppress(OSError):
        while True:
            connection = server.accept()[0]
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + rest)
