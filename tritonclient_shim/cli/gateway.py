"""Serve v1's wire protocol in front of a Triton server."""

from __future__ import annotations

import argparse
import json
import logging
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tritonclient_shim.cli import Refused, tell
from tritonclient_shim.settings import SettingsError

if TYPE_CHECKING:
    from tritonclient_shim.gateway.options import Bound, GatewayOptions

#: A module of the extra ``gateway`` → how pip is asked for it (setup.cfg).
EXTRA = {"aiohttp": "aiohttp>=3.10.11", "prometheus_client": "prometheus-client>=0.12"}
_OTHER_ADDRESSES = (
    ". Give other addresses with --http, --grpc and --metrics-address HOST:PORT; "
    "8000, 8001 and 8002 are Triton's own ports, too"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim gateway``."""
    from tritonclient_shim.gateway.options import OPTIONS, option

    for name, row in OPTIONS.items():
        more: Any = {"nargs": "?", "const": "json"} if name == "access_log" else {}
        default: Any = row.default
        if name == "forward_header":
            default = ",".join(default)
        shown = f" (default {default})" if default not in (None, "", ()) else ""
        parser.add_argument(
            option(name),
            metavar=row.metadata["shown"],
            default=argparse.SUPPRESS,
            help=(row.metadata["help"] + shown).replace("%", "%%"),
            **more,
        )


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit status."""
    from tritonclient_shim.gateway.options import (
        OPTIONS,
        OptionError,
        options_from,
        unknown_variables,
    )

    texts = {name: text for name, text in vars(arguments).items() if name in OPTIONS}
    try:
        options = options_from(texts)
    except OptionError as error:
        raise Refused(str(error)) from None
    try:
        if options.metrics_address is not None:
            import_module("prometheus_client")
        from tritonclient_shim.gateway import serve
        from tritonclient_shim.gateway.log_lines import log_to_stderr
        from tritonclient_shim.gateway.stopping import CannotListen
    except ImportError as error:
        tell("gateway", _missing(error.name or str(error)))
        return 1
    lines = log_to_stderr()
    for line in unknown_variables():
        logging.getLogger("tritonclient_shim.gateway").warning("%s", line)
    try:
        serve.run(options, partial(_announce, options), lines)
    except (OSError, RuntimeError, SettingsError) as error:
        advice = _OTHER_ADDRESSES if isinstance(error, CannotListen) else ""
        tell("gateway", f"cannot start: {error}{advice}")
        return 1
    return 0


def _missing(name: str) -> str:
    from tritonclient_shim.cli._installation import as_lines, pip

    text = f"the gateway needs {name}, which is not installed"
    if name not in EXTRA:
        return f"{text}: tritonclient-shim doctor says what to do"
    return as_lines(f"{text}. Install it", pip("install", EXTRA[name]))


def _announce(options: GatewayOptions, bound: Bound, triton: str) -> None:
    """Print the addresses; ``triton`` is where Triton has answered, '' if it has not."""
    addresses = {"http": str(bound.http), "grpc": str(bound.grpc)}
    if bound.metrics is not None:
        addresses["metrics"] = str(bound.metrics)
    if options.start_line == "json":
        print(json.dumps(addresses), flush=True)
        return
    listed = ", ".join(f"{name} {address}" for name, address in addresses.items())
    answer = f"Triton answers at {triton}" if triton else "Triton does not answer yet"
    print(f"Serving v1 at {listed}. {answer}. Stop with Ctrl-C or SIGTERM.", flush=True)
