"""Forks of a process that uses gRPC (docs/v2-mapping.md §10)."""

from __future__ import annotations

import subprocess
import sys

#: A process with a fork handler that, like gRPC's, closes an inherited socket in the child.
PROGRAM = """
import os, socket, sys
from tritonclient_shim.core import forks
inherited = socket.socket()
number = inherited.fileno()
os.register_at_fork(after_in_child=inherited.close)
forks.calls.guard_forks()
child = os.fork()
if child == 0:
    with socket.socket() as own:
        os._exit(int(own.fileno() == number) or 2 * int(inherited.fileno() != -1))
assert os.waitpid(child, 0)[1] == 0
assert inherited.fileno() == number
"""


def test_number_of_a_closed_socket() -> None:
    """A child's new connection has another number than a socket closed by the fork."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
