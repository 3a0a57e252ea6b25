"""A real Triton server for the demo, the tests and the benchmarks (not distributed)."""

from __future__ import annotations

from testbed.launcher import TritonServer
from testbed.missing import MissingPrerequisite
from testbed.process import ServerFailed
from testbed.pytriton_app import PyTritonServer

__all__ = ["MissingPrerequisite", "PyTritonServer", "ServerFailed", "TritonServer"]
