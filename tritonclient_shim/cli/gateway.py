"""Serve v1's wire protocol, HTTP and gRPC, in front of a Triton server."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tritonclient_shim.core.model import GRPC, HTTP
from tritonclient_shim.settings import SettingsError

if TYPE_CHECKING:
    from tritonclient_shim.gateway.options import Bound, ListenAddress

_AIOHTTP = "aiohttp>=3.10.11"  # as in setup.cfg, extra "gateway"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim gateway``."""
    _add_addresses(parser.add_argument)
    _add_limits(parser.add_argument)
    _add_times(parser.add_argument)
    parser.add_argument("--access-log", action="store_true", default=argparse.SUPPRESS,
        help="a line on stderr for each request")  # fmt: skip


def _add_addresses(add: Any) -> None:
    from tritonclient_shim.gateway.releases import RELEASES

    add("--http", type=_address, default="127.0.0.1:8000", metavar="HOST:PORT",
        help="where to serve v1's HTTP; port 0 lets the system choose")  # fmt: skip
    add("--grpc", type=_address, default="127.0.0.1:8001", metavar="HOST:PORT",
        help="where to serve v1's gRPC; port 0 lets the system choose")  # fmt: skip
    add("--triton-grpc", required=True, metavar="HOST:PORT", default=argparse.SUPPRESS,
        help="gRPC address of the Triton server; grpcs://HOST:PORT for TLS")  # fmt: skip
    add("--triton-http", metavar="HOST:PORT", default=argparse.SUPPRESS,
        help="its HTTP address, for requests that come over HTTP (otherwise those, too, go "
        "to Triton over gRPC); https://HOST:PORT for TLS")  # fmt: skip
    add("--server-id", metavar="ID", default=argparse.SUPPRESS,
        help="the server id that clients are told, such as v1's default inference:0 "
        "(otherwise Triton's own --id)")  # fmt: skip
    add("--emulate", choices=RELEASES, metavar="RELEASE", default=argparse.SUPPRESS,
        help=f"a release of v1's server, {', '.join(RELEASES)}, whose texts and fields "
        "clients get (otherwise those that clients of all releases can read)")  # fmt: skip


def _add_limits(add: Any) -> None:
    from tritonclient_shim.gateway.options import LARGEST_MESSAGE, GatewayOptions

    add("--workers", type=_positive, default=GatewayOptions.workers, metavar="N",
        help="processes that share the addresses; each has the limits for itself")  # fmt: skip
    add("--max-body-bytes", type=_positive, default=LARGEST_MESSAGE, metavar="N",
        help="largest request; also the sum of the HTTP bodies held at one time")  # fmt: skip
    add("--max-in-flight", type=_positive, default=GatewayOptions.max_in_flight, metavar="N",
        help="requests per protocol that are answered at one time; more wait")  # fmt: skip
    add("--max-connections", type=_positive, default=GatewayOptions.max_connections, metavar="N",
        help="HTTP connections at one time; then the one idle longest is closed")  # fmt: skip
    add("--max-streams", type=_positive, default=GatewayOptions.max_streams, metavar="N",
        help="StreamInfer calls that are open at one time; more are refused")  # fmt: skip


def _add_times(add: Any) -> None:
    from tritonclient_shim.gateway.options import GatewayOptions

    add("--client-timeout", type=_seconds, default=GatewayOptions.client_timeout, metavar="SECONDS",
        help="how long a client may keep the gateway waiting, for a part of its request "
        "or for taking a part of its answer")  # fmt: skip
    add("--upstream-timeout", type=_seconds, default=GatewayOptions.upstream_timeout,
        metavar="SECONDS", help="how long Triton may take to answer an inference or to tell its "
        "status; then the answer is UNAVAILABLE")  # fmt: skip
    add("--load-timeout", type=_seconds, default=GatewayOptions.load_timeout, metavar="SECONDS",
        help="the same for loading and unloading a model")  # fmt: skip
    add("--health-timeout", type=_seconds, default=GatewayOptions.health_timeout,
        metavar="SECONDS", help="the same for health")  # fmt: skip
    add("--drain", type=_not_negative, default=GatewayOptions.drain, metavar="SECONDS",
        help="how long a stop only tells that the gateway is not ready, and still accepts "
        "connections, so that load balancers look elsewhere")  # fmt: skip
    add("--grace", type=_not_negative, default=GatewayOptions.grace, metavar="SECONDS",
        help="how long a stop waits for requests that are being answered")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT → exit status."""
    from tritonclient_shim.gateway.operation.logs import log_to_stderr

    options = _options(arguments)
    try:
        program = _program(options.workers)
    except ImportError as error:
        return _fail(_missing(error.name or str(error)))
    log_to_stderr()
    try:
        program.run(options, _announce)
    except (OSError, RuntimeError, SettingsError) as error:
        return _fail(f"cannot start: {error}")
    return 0


def _program(workers: int) -> Any:
    """The module that runs a gateway of so many processes. ImportError if a part is missing.

    A supervisor answers no requests, so it does without what takes long to import.
    """
    if workers == 1:
        from tritonclient_shim.gateway import serve

        return serve
    from tritonclient_shim.gateway.operation import supervisor

    for name in ("aiohttp", "grpc"):
        if find_spec(name) is None:
            raise ImportError(name=name)
    return supervisor


def _missing(name: str) -> str:
    from tritonclient_shim.core.installation import commands, wording

    text = f"the gateway needs {name}, which is not installed"
    if name != "aiohttp":  # the others are required by any part of this distribution
        return f"{text}: tritonclient-shim doctor says what to do"
    return wording.as_lines(f"{text}. Install it", commands.pip("install", _AIOHTTP))


def _options(arguments: argparse.Namespace) -> Any:
    from tritonclient_shim.gateway.options import GatewayOptions
    from tritonclient_shim.translate.endpoint import parse_url

    given = dict(vars(arguments))
    given.pop("run")
    given["triton_grpc"] = parse_url(given["triton_grpc"], GRPC)
    if "triton_http" in given:
        given["triton_http"] = parse_url(given["triton_http"], HTTP)
    return GatewayOptions(**given)


def _announce(bound: Bound) -> None:
    """Print the addresses as a line of JSON, for programs that start the gateway with port 0."""
    print(json.dumps({"http": str(bound.http), "grpc": str(bound.grpc)}), flush=True)


def _fail(text: str) -> int:
    print(f"tritonclient-shim gateway: {text}", file=sys.stderr)
    return 1


def _address(text: str) -> ListenAddress:
    from tritonclient_shim.core.addresses import split_port
    from tritonclient_shim.gateway.options import ListenAddress

    host, port = split_port(text)
    if ":" not in text or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, got {text!r}")
    return ListenAddress(host or "127.0.0.1", int(port))


def _positive(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    seconds = _number(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")
    return seconds


def _not_negative(text: str) -> float:
    seconds = _number(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 0 on, got {text!r}")
    return seconds


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
