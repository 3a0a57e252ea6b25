"""``python -m testbed``: run a server of the tests in the foreground, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
from typing import Callable

from testbed import (
    KServeServer,
    MissingPrerequisite,
    MLServer,
    ServerFailed,
    TritonServer,
    environment,
    open_environment,
)
from testbed.open_environment import KSERVE, MLSERVER
from testbed.process import RunningServer

# Kind of server → the function that installs it, and the function that starts it.
SERVERS: dict[str, tuple[Callable[[], object], Callable[[], RunningServer]]] = {
    "triton": (environment.prepare, TritonServer.start),
    "mlserver": (lambda: open_environment.prepare(MLSERVER), MLServer.start),
    "kserve": (lambda: open_environment.prepare(KSERVE), KServeServer.start),
}


def main() -> int:
    """Prepare, or serve until Ctrl-C. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    parser.add_argument(
        "--prepare", action="store_true", help="only make the server's environment, then exit"
    )
    parser.add_argument("--server", choices=tuple(SERVERS), default="triton")
    options = parser.parse_args()
    try:
        prepare, start = SERVERS[options.server]
        if options.prepare:
            prepare()
        else:
            _serve(start())
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
