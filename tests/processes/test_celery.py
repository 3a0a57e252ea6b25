"""Contexts in the worker processes of a real celery, as docs/processes.md describes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

from tests.own_interpreter import environment

PATIENCE = 120  # seconds
KINDS = ("http", "grpc", "stream")

#: Tasks on a broker of files. Contexts are made at the import, or by the first task of a process.
TASKS = """
import os
import numpy as np
from celery import Celery
from tensorrtserver.api import *
folder = os.environ['FOLDER']
app = Celery('tasks', broker='filesystem://', backend='file://' + folder)
app.conf.broker_transport_options = dict(
    data_folder_in=folder, data_folder_out=folder, control_folder=folder)
A = np.arange(16, dtype=np.int32)
INPUTS, RAW = {'INPUT0': [A], 'INPUT1': [A]}, {'OUTPUT0': InferContext.ResultFormat.RAW}
contexts = {}
@app.task
def answer(kind):
    if kind not in contexts:
        protocol = 0 if kind == 'http' else 1
        contexts[kind] = InferContext(os.environ[('HTTP', 'GRPC')[protocol]], protocol, 'simple',
                                      streaming=kind == 'stream')
    context = contexts[kind]
    number = context.async_run(INPUTS, RAW)
    results = context.run(INPUTS, RAW), context.get_async_run_results(number, True)
    return all(result['OUTPUT0'][0].tolist() == (A * 2).tolist() for result in results)
if os.environ.get('ROLE') == 'worker':
    for kind in os.environ['AT_IMPORT'].split():
        assert answer(kind)
"""
#: Sends eight tasks of each kind, and prints the answers.
CLIENT = """
import sys
from tasks import answer
sent = [answer.delay(kind) for _ in range(8) for kind in sys.argv[1].split()]
print(*[result.get(timeout=90) for result in sent])
"""


@pytest.fixture
def answers(tmp_path: Path, triton: Any) -> Iterator[Any]:
    """Return a function that starts a worker, and returns what its tasks answer."""
    pytest.importorskip("celery")
    (tmp_path / "tasks.py").write_text(TASKS, "utf-8")
    folder = tmp_path / "messages"
    folder.mkdir()
    started: list[subprocess.Popen[bytes]] = []
    log = (tmp_path / "log").open("w+b")

    def ask(at_import: str) -> str:
        addresses = {"HTTP": triton.http, "GRPC": triton.grpc}
        variables = environment(FOLDER=str(folder), AT_IMPORT=at_import, **addresses)
        options = ["-A", "tasks", "worker", "--pool", "prefork", "--concurrency", "2"]
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", *options, "--without-gossip", "--without-mingle"],
            cwd=tmp_path,
            env={**variables, "ROLE": "worker"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        started.append(worker)
        client = subprocess.run(
            [sys.executable, "-c", CLIENT, " ".join(KINDS)],
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            text=True,
        )
        log.seek(0)
        assert client.returncode == 0, client.stdout + log.read().decode(errors="replace")
        return client.stdout

    yield ask
    for worker in started:
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
    log.close()


@pytest.mark.parametrize("at_import", ["", "http grpc stream"])
def test_prefork(answers: Any, at_import: str) -> None:
    """Processes of the pool use contexts of all kinds, their own and those of the import."""
    assert answers(at_import).split() == ["True"] * 8 * len(KINDS)
