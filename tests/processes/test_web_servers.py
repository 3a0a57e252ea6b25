"""Contexts in the workers of real gunicorn and uWSGI, as docs/processes.md describes."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Iterator

import pytest

from tests.own_interpreter import environment

#: A WSGI application. It makes its contexts at the import or in the worker.
APPLICATION = """
import os
import numpy as np
from tensorrtserver.api import *
A = np.arange(16, dtype=np.int32)
INPUTS, RAW = {'INPUT0': [A], 'INPUT1': [A]}, {'OUTPUT0': InferContext.ResultFormat.RAW}
contexts = {}
def answer(kind):
    if kind not in contexts:
        protocol = 0 if kind == 'http' else 1
        contexts[kind] = InferContext(os.environ[('HTTP', 'GRPC')[protocol]], protocol, 'simple',
                                      streaming=kind == 'stream')
    context = contexts[kind]
    numbers = context.async_run(INPUTS, RAW), context.async_run(INPUTS, RAW)
    results = [context.run(INPUTS, RAW)]
    results += [context.get_async_run_results(number, True) for number in numbers]
    return all(result['OUTPUT0'][0].tolist() == (A * 2).tolist() for result in results)
def application(environ, start_response):
    try:
        text = str(answer(environ['PATH_INFO'].strip('/')))
    except InferenceServerException as error:
        text = str(error)
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [text.encode()]
for kind in os.environ['AT_IMPORT'].split():
    assert answer(kind)
"""


class Site:
    """A web server that runs the application."""

    def __init__(self, folder: Path, triton: Any, command: list[str], at_import: str) -> None:
        (folder / "site_app.py").write_text(APPLICATION, "utf-8")
        variables = environment(HTTP=triton.http, GRPC=triton.grpc, AT_IMPORT=at_import)
        self._log = (folder / "log").open("w+b")
        self._process = subprocess.Popen(
            command, cwd=folder, env=variables, stdout=self._log, stderr=subprocess.STDOUT
        )

    def get(self, address: str, kind: str) -> str:
        """Return what the application answers. Wait for the server's start."""
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://{address}/{kind}", timeout=60) as reply:
                    return str(reply.read().decode())
            except ConnectionError:
                pass
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionError):
                    raise AssertionError(self.log()) from error
            assert time.monotonic() < end and self._process.poll() is None, self.log()
            time.sleep(0.1)

    def log(self) -> str:
        """Return what the server has printed."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def stop(self) -> None:
        """End the server."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


@pytest.fixture
def sites(tmp_path: Path, triton: Any) -> Iterator[Any]:
    """Return a function that starts a web server and asks it for answers of each kind."""
    started = []

    def ask(command: list[str], address: str, at_import: str, *kinds: str) -> list[str]:
        site = Site(tmp_path, triton, command, at_import)
        started.append(site)
        return [site.get(address, kind) for kind in kinds for _ in range(4)]

    yield ask
    for site in started:
        site.stop()


def free_address() -> str:
    """Return the address of a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def gunicorn(address: str, worker: str, *options: str) -> list[str]:
    """Return the command of gunicorn. Skip the test if a package is missing."""
    pytest.importorskip("gunicorn")
    if worker == "gevent":
        pytest.importorskip("gevent")
    command = [sys.executable, "-m", "gunicorn", "--bind", address, "--worker-class", worker]
    return [*command, "--workers", "2", "--timeout", "60", *options, "site_app"]


def uwsgi(address: str, *options: str) -> list[str]:
    """Return the command of uWSGI. Skip the test if it is missing."""
    program = shutil.which("uwsgi", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("uwsgi is not installed beside the interpreter")
    command = [program, "--http-socket", address, "--wsgi-file", "site_app.py", "--master"]
    return [*command, "--need-app", "--die-on-term", "--processes", "2", *options]


@pytest.mark.parametrize("worker", ["sync", "gthread", "gevent"])
@pytest.mark.parametrize("options", ["", "--preload"])
def test_gunicorn(sites: Any, worker: str, options: str) -> None:
    """Workers of gunicorn use contexts of all kinds, their own and those of the import."""
    address = free_address()
    command = gunicorn(address, worker, *options.split())
    answers = sites(command, address, "http grpc stream", "http", "grpc", "stream")
    assert answers == ["True"] * 12


def test_gunicorn_eventlet(sites: Any) -> None:
    """Workers of eventlet use HTTP and gRPC, and a stream raises an error with the remedy."""
    pytest.importorskip("eventlet")
    pytest.importorskip("gunicorn.workers.geventlet", reason="this gunicorn has no such worker")
    address = free_address()
    answers = sites(gunicorn(address, "eventlet"), address, "", "http", "grpc", "stream")
    assert answers[:8] == ["True"] * 8
    assert all("call eventlet.monkey_patch(thread=False)" in answer for answer in answers[8:])


@pytest.mark.parametrize(
    ("options", "at_import"),
    [
        ("", ""),
        ("", "http grpc"),
        ("--lazy-apps", "http grpc stream"),
        ("--enable-threads", "http grpc"),
    ],
)
def test_uwsgi(sites: Any, options: str, at_import: str) -> None:
    """Workers of uWSGI use contexts of all kinds, and those of the import but for open streams."""
    address = free_address()
    command = uwsgi(address, *options.split())
    answers = sites(command, address, at_import, "http", "grpc", "stream")
    assert answers == ["True"] * 12


def test_uwsgi_with_an_open_stream(sites: Any) -> None:
    """A stream that is open at the fork makes gRPC calls of workers raise an error."""
    address = free_address()
    answers = sites(uwsgi(address), address, "stream", "http", "grpc", "stream")
    assert answers[:4] == ["True"] * 4
    assert all("under uWSGI set lazy-apps" in answer for answer in answers[4:])
