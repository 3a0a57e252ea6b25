"""Errors of connections over HTTP are OSError; programs that catch these apart do as before."""

from __future__ import annotations

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


def test_files_beside_grpc() -> None:
    """A program whose contexts all speak gRPC may catch errors of files, too."""
    source = (_ASK + _FILES).replace(".HTTP", ".GRPC")
    assert todo(migrated(source, unsafe=False)) == []


def test_protocol_from_elsewhere() -> None:
    """A context whose protocol the file does not choose may speak HTTP, so it stays."""
    ask = 'def ask(p):\n    print(ServerHealthContext("u", p).is_live(), open("x").read())\n'
    guarded = "try:\n    ask(protocol)\n    open('x')\nexcept InferenceServerException:\n    pass\n"
    assert "3:TS020" in todo(migrated(f"{STAR}{ask}{guarded}", unsafe=False))
