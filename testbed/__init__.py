"""Real servers for the demo, the tests and the benchmarks (not distributed)."""

from __future__ import annotations

from typing import Any

from testbed.launcher import TritonServer
from testbed.open_servers import KServeServer, MLServer
from testbed.process import ServerFailed
from testbed.progress import MissingPrerequisite

__all__ = ["KINDS", "KServeServer", "MLServer", "MissingPrerequisite", "ServerFailed"]
__all__ += ["TritonServer"]

#: The kinds of servers. Each has ``start``, which installs it if it is missing.
KINDS: dict[str, Any] = {"triton": TritonServer, "mlserver": MLServer, "kserve": KServeServer}
