"""``python -m testbed``: the standard server in the foreground, for humans."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time

from testbed import (
    MissingPrerequisite,
    PyTritonServer,
    ServerFailed,
    TritonServer,
    environment,
    shared_memory,
)


def main() -> int:
    """Prepare, or serve until Ctrl-C → the exit status."""
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    parser.add_argument(
        "--prepare", action="store_true", help="only make the server's environment, then exit"
    )
    parser.add_argument(
        "--pytriton", action="store_true", help="serve functions bound with PyTriton instead"
    )
    parser.add_argument(
        "--shared-memory",
        type=int,
        default=0,
        metavar="MIB",
        help="first make sure that this much of /dev/shm is free",
    )
    options = parser.parse_args()
    try:
        if options.shared_memory:
            shared_memory.require(options.shared_memory)
        if options.prepare:
            environment.prepare(complete=options.pytriton)
        else:
            _serve(PyTritonServer.start() if options.pytriton else TritonServer.start())
    except KeyboardInterrupt:
        print("testbed: interrupted before the server was ready", file=sys.stderr)
        return 130
    except (MissingPrerequisite, ServerFailed) as problem:
        print(f"testbed: {problem}", file=sys.stderr)
        return 1
    return 0


def _serve(server: TritonServer | PyTritonServer) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"HTTP {server.http}\ngRPC {server.grpc}\nLog  {server.log_path}", flush=True)
        print("Ctrl-C stops the server.", flush=True)
        while server.running:
            time.sleep(0.5)
        print("The server has ended by itself.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
