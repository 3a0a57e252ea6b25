"""Serve v1's wire protocol in front of a Triton server."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tritonclient_shim.settings import SettingsError

if TYPE_CHECKING:
    from tritonclient_shim.gateway.options.table import Bound, GatewayOptions

#: As in setup.cfg, extra "gateway"; what else is missing is required by any part.
_EXTRA = {"aiohttp": "aiohttp>=3.10.11", "prometheus_client": "prometheus-client>=0.12"}

_OTHER_ADDRESSES = (
    ". Give other addresses with --http, --grpc and --metrics-address HOST:PORT; "
    "8000, 8001 and 8002 are Triton's own ports, too"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim gateway``."""
    from tritonclient_shim.gateway.options.configuration import FILE, PREFIX, option
    from tritonclient_shim.gateway.options.table import OPTIONS

    parser.add_argument(
        option(FILE),
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="a TOML file of options by these names. What it says gives way to the environment "
        f"({PREFIX} and the name in capitals), and that to the command line",
    )
    for name, one in OPTIONS.items():
        more: Any = {"nargs": "?", "const": "text"} if name == "access_log" else {}
        default: Any = one.default
        if name == "forward_header":
            default = ",".join(default)
        shown = f" (default {default})" if default not in (None, "", ()) else ""
        parser.add_argument(
            option(name),
            metavar=one.metadata["shown"],
            default=argparse.SUPPRESS,
            help=(one.metadata["help"] + shown).replace("%", "%%"),
            **more,
        )


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT → exit status."""
    from tritonclient_shim.gateway.addresses import CannotListen
    from tritonclient_shim.gateway.operation.logs import log_to_stderr
    from tritonclient_shim.gateway.options import configuration

    given = dict(vars(arguments))
    given.pop("run")
    try:
        options = configuration.options_from(given)
    except configuration.OptionError as error:
        return _fail(str(error), 2)
    try:
        program = _program(options)
    except ImportError as error:
        return _fail(_missing(error.name or str(error)))
    log_to_stderr(options.access_log, configuration.unknown_variables())
    try:
        program.run(options, _announce)
    except (OSError, RuntimeError, SettingsError) as error:
        advice = _OTHER_ADDRESSES if isinstance(error, CannotListen) else ""
        return _fail(f"cannot start: {error}{advice}")
    return 0


def _program(options: GatewayOptions) -> Any:
    """The module that runs such a gateway. ImportError if a part is missing.

    A supervisor answers no requests, so it does without what takes long to import.
    """
    if options.metrics_address is not None:
        import_module("prometheus_client")
    if options.workers == 1:
        from tritonclient_shim.gateway.operation import serve

        return serve
    from tritonclient_shim.gateway.operation import supervisor

    for name in ("aiohttp", "grpc"):
        if find_spec(name) is None:
            raise ImportError(name=name)
    return supervisor


def _missing(name: str) -> str:
    from tritonclient_shim.cli._installation import as_lines, pip

    text = f"the gateway needs {name}, which is not installed"
    if name not in _EXTRA:
        return f"{text}: tritonclient-shim doctor says what to do"
    return as_lines(f"{text}. Install it", pip("install", _EXTRA[name]))


def _announce(bound: Bound) -> None:
    """Print the addresses as a line of JSON, for programs that start the gateway with port 0."""
    told = {"http": str(bound.http), "grpc": str(bound.grpc)}
    if bound.metrics is not None:
        told["metrics"] = str(bound.metrics)
    print(json.dumps(told), flush=True)


def _fail(text: str, status: int = 1) -> int:
    print(f"tritonclient-shim gateway: {text}", file=sys.stderr)
    return status
