"""Imports have no effects (ARCHITECTURE.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tensorrtserver

ROOT = Path(str(tensorrtserver.__file__)).parents[1]

#: A program that prints as JSON what an import changed in its interpreter.
SCRIPT = """
import json, os, signal, socket, sys, threading, warnings
import numpy, google.protobuf, deprecation
made = []
created = socket.socket.__init__
def watch(self, *args, **kwargs):
    made.append(repr(args))
    created(self, *args, **kwargs)
socket.socket.__init__ = watch
threads = []
start = threading.Thread.start
def started(self):
    threads.append(self.name)
    start(self)
threading.Thread.start = started
filters, variables = list(warnings.filters), dict(os.environ)
hooks = (sys.excepthook, threading.excepthook, warnings.showwarning)
handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)]
exec(sys.argv[1])
print(json.dumps({
    "sockets": made,
    "threads": threads,
    "filters": [repr(one) for one in warnings.filters if one not in filters],
    "environment": os.environ != variables,
    "hooks": hooks != (sys.excepthook, threading.excepthook, warnings.showwarning),
    "handlers": handlers != [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
    ],
    "modules": sorted(sys.modules),
}))
"""


def effects(statement: str) -> dict[str, Any]:
    """Return what a statement changed in a fresh interpreter."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TRITON_SHIM_WARNINGS": "off"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, statement],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    "statement",
    [
        "from tensorrtserver.api import *",
        "import tensorrtserver.shared_memory, tensorrtserver.cuda_shared_memory",
        "from tensorrtserver.api import api_pb2, grpc_service_pb2, model_config_pb2",
        "from tensorrtserver.api import *; c = ServerHealthContext('localhost:1', 0)",
        "from tensorrtserver.api import *; c = ModelControlContext('localhost:1', 1); c.close()",
    ],
)
def test_import(statement: str) -> None:
    """Imports start no thread, socket, filter, hook or handler, and load no grpc and no gevent."""
    result = effects(statement)
    loaded = set(result.pop("modules"))
    assert result == {
        "sockets": [],
        "threads": [],
        "filters": [],
        "environment": False,
        "hooks": False,
        "handlers": False,
    }
    assert {"grpc", "gevent", "geventhttpclient"}.isdisjoint(loaded)
    assert {"tritonclient.http", "tritonclient.grpc"}.isdisjoint(loaded)
    assert {"pkg_resources", "future"}.isdisjoint(loaded)


def test_the_facade_alone() -> None:
    """Scripts that only import v1 load its names, and neither records nor backends."""
    loaded = effects("from tensorrtserver.api import *")["modules"]
    below = ("core.model", "session", "translate", "backends", "settings")
    assert [
        item for item in loaded if item.startswith(tuple(f"tritonclient_shim.{x}" for x in below))
    ] == []


def test_looking_at_a_lazy_module_imports_nothing() -> None:
    """``repr``, ``inspect`` and ``copy`` of a lazy module do not import it."""
    statement = (
        "import copy, inspect, tensorrtserver.api\n"
        "from tritonclient_shim.registry.star_names import LazyModule\n"
        "module = LazyModule('tritonclient_shim.session.control')\n"
        "repr(module), inspect.unwrap(module), hasattr(module, '__wrapped__')\n"
        "assert not hasattr(module, '__deepcopy__')"
    )
    assert "tritonclient_shim.session.control" not in effects(statement)["modules"]
    assert "tritonclient_shim.session.control" in effects(statement + "; module.health")["modules"]


@pytest.mark.parametrize(
    ("protocol", "loads", "spares"),
    [
        (0, "tritonclient_shim.backends.http.backend", {"grpc", "gevent", "tritonclient.http"}),
        (1, "grpc", {"gevent", "tritonclient.http"}),
    ],
)
def test_first_context(protocol: int, loads: str, spares: set[str]) -> None:
    """A context loads the modules of its own protocol when it is made."""
    statement = (
        "from tensorrtserver.api import *\n"
        "try:\n"
        f"    InferContext('127.0.0.1:1', {protocol}, 'simple')\n"
        "except InferenceServerException:\n"
        "    pass"
    )
    result = effects(statement)
    assert loads in result["modules"]
    assert spares.isdisjoint(result["modules"])
    # urllib3, which some versions of tritonclient import, has filters for its own categories
    assert [item for item in result["filters"] if "<class 'urllib3." not in item] == []
