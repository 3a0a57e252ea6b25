"""Real servers for the demo, the tests and the benchmarks (not distributed)."""

from __future__ import annotations

from testbed.launcher import TritonServer
from testbed.open_servers import KServeServer, MLServer
from testbed.process import ServerFailed
from testbed.progress import MissingPrerequisite

__all__ = [
    "KServeServer",
    "MLServer",
    "MissingPrerequisite",
    "ServerFailed",
    "TritonServer",
]
