"""``python -m testbed``: run a server of the tests in the foreground, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
from functools import partial
from typing import Callable

from testbed import KINDS, MissingPrerequisite, ServerFailed, environment
from testbed.open_environment import KSERVE, MLSERVER, prepare
from testbed.process import RunningServer

#: The functions that install a kind of server.
PREPARE: dict[str, Callable[[], object]] = {
    "triton": environment.prepare,
    "mlserver": partial(prepare, MLSERVER),
    "kserve": partial(prepare, KSERVE),
}


def main() -> int:
    """Prepare, or serve until Ctrl-C. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    parser.add_argument(
        "--prepare", action="store_true", help="only make the server's environment, then exit"
    )
    parser.add_argument("--server", choices=tuple(KINDS), default="triton")
    options = parser.parse_args()
    try:
        if options.prepare:
            PREPARE[options.server]()
        else:
            _serve(KINDS[options.server].start())
    except KeyboardInterrupt:
        print("testbed: interrupted before the server was ready", file=sys.stderr)
        return 130
    except (MissingPrerequisite, ServerFailed) as problem:
        print(f"testbed: {problem}", file=sys.stderr)
        return 1
    return 0


def _serve(server: RunningServer) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"HTTP {server.http}\ngRPC {server.grpc}\nLog  {server.log_path}", flush=True)
        print("Ctrl-C stops the server.", flush=True)
        while server.running:
            time.sleep(0.5)
        print("The server has ended by itself.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
