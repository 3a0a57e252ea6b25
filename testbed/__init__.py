"""A real Triton server for the demo, the tests and the benchmarks (not distributed)."""

from __future__ import annotations

from testbed.launcher import ServerFailed, TritonServer
from testbed.prerequisites import MissingPrerequisite

__all__ = ["MissingPrerequisite", "ServerFailed", "TritonServer"]
