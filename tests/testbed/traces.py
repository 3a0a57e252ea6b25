"""What a server leaves on the machine while it runs, to be gone afterwards."""

from __future__ import annotations

import glob
import os
import time
from dataclasses import dataclass

from testbed.process import RunningServer


@dataclass(frozen=True)
class Traces:
    """The process group, the temporary folder and the shared-memory prefix of one server."""

    group: int
    folder: str
    prefix: str

    @classmethod
    def of(cls, server: RunningServer) -> Traces:
        """The traces of a running ``TritonServer``."""
        with open(f"/proc/{server.pid}/cmdline", encoding="utf-8") as handle:
            (prefix,) = [one for one in handle.read().split("\0") if "shm-region-prefix" in one]
        return cls(server.pid, os.path.dirname(server.log_path), prefix.rsplit("=", 1)[1])

    def present(self) -> list[str]:
        """Everything of it that is there now."""
        members = [one for one in glob.glob("/proc/[0-9]*/stat") if self._is_member(one)]
        files = glob.glob(f"/dev/shm/{self.prefix}*") + glob.glob(self.folder)
        return members + files

    def gone_within(self, seconds: float) -> bool:
        """Whether nothing is left, at the latest after ``seconds``."""
        deadline = time.monotonic() + seconds
        while self.present() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.present()

    def _is_member(self, path: str) -> bool:
        try:
            with open(path, encoding="utf-8", errors="replace") as handle:
                state, _, group = handle.read().rsplit(")", 1)[1].split()[:3]
        except OSError:
            return False
        return int(group) == self.group and state != "Z"
