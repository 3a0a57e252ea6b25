"""Real servers for the demo, the tests and the benchmarks (not distributed)."""

from __future__ import annotations

from testbed.launcher import TritonServer
from testbed.open_servers import KServeServer, MLServer
from testbed.process import ServerFailed
from testbed.progress import MissingPrerequisite
from testbed.pytriton_app import PyTritonServer

__all__ = [
    "KServeServer",
    "MLServer",
    "MissingPrerequisite",
    "PyTritonServer",
    "ServerFailed",
    "TritonServer",
]
