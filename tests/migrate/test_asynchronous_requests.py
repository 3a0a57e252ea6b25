"""Asynchronous requests are sent as v1 sent them: all at once, with the arrays of their call."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Iterator

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import CONTEXT, STAR, migrated, run
from tritonclient_shim.cli import main

_REQUESTS = 40
_PATIENCE = 20  # seconds
_SOURCE = f"""import sys
import numpy as np
from tensorrtserver.api import *

ctx = InferContext(sys.argv[1], ProtocolType.HTTP, "identity_int32")
raw = InferContext.ResultFormat.RAW
row = np.zeros(1, np.int32)
ids = []
for n in range({_REQUESTS}):
    row[0] = n
    ids.append(ctx.async_run({{"INPUT0": [row]}}, {{"OUTPUT0": raw}}))
print([int(ctx.get_async_run_results(id, True)["OUTPUT0"][0][0]) for id in ids])
"""


@pytest.fixture
def gathering(triton: TritonServer) -> Iterator[str]:
    """Return the address of a proxy that forwards requests when all of them are there."""
    everybody = threading.Barrier(_REQUESTS)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.endswith("/infer"):
                everybody.wait(_PATIENCE)
            server = http.client.HTTPConnection(triton.http)
            server.request(self.command, self.path, body, dict(self.headers))
            reply = server.getresponse()
            content = reply.read()
            server.close()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    class Proxy(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 2 * _REQUESTS

        def handle_error(self, request: object, address: object) -> None:
            everybody.abort()

    proxy = Proxy(("127.0.0.1", 0), Handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{proxy.server_port}"
    proxy.shutdown()
    proxy.server_close()


@pytest.mark.parametrize("options", [(), ("--unsafe",)], ids=["safe", "unsafe"])
def test_requests_that_wait_for_each_other(
    options: tuple[str, ...], gathering: str, tmp_path: Path
) -> None:
    """Requests that the server answers together have answers, as before."""
    script = tmp_path / "script.py"
    script.write_text(_SOURCE)
    before = run(script, gathering)
    assert before.output == f"{list(range(_REQUESTS))}\n"
    assert main(["migrate", "--write", *options, str(script)]) == 0
    assert run(script, gathering) == before


@pytest.mark.parametrize(
    ("row", "is_copied"),
    [
        ("np.array([n], np.int32)", False),
        ("np.zeros(1, np.int32)", False),
        ("row", True),
        ("row.view()", True),
        ("np.asarray(row)", True),
        ("np.array(row, copy=False)", True),
        ("make(n)", True),
        ("*rows", True),
    ],
)
def test_copies_of_arrays(row: str, is_copied: bool) -> None:
    """Only arrays that the program may change after the call are copied for their request."""
    source = f"import numpy as np\n{STAR}{CONTEXT}ctx.async_run({{'a': [{row}]}}, o)\n"
    assert ("deepcopy(" in migrated(source).after.decode()) is is_copied


@pytest.mark.parametrize(
    ("use", "is_copied"),
    [
        ("", False),
        ("print(row.shape)", False),
        ("total = row + 1", False),
        ("row[0] = 1", True),
        ("row[:] += 1", True),
        ("row += np.zeros(1)", True),
        ("row.sort()", True),
        ("other = row", True),
        ("change(row)", True),
        ("part = row[:1]", True),
        ("row = make()", True),
        ("row = np.ones(1)", False),
        ("other = row = np.ones(1)", True),
        ("print(row := x)", True),
        ("row, other = np.ones(2)", True),
        ("rows = [row]", True),
        ("return row", True),
    ],
)
def test_arrays_in_a_variable(use: str, is_copied: bool) -> None:
    """New arrays that a function only sends and reads are not copied."""
    source = (
        f"import numpy as np\n{STAR}{CONTEXT}def send():\n    row = np.zeros(1, np.int32)\n"
        f"    ctx.async_run({{'a': [row]}}, o)\n    {use}\n"
    )
    assert ("deepcopy(" in migrated(source).after.decode()) is is_copied
