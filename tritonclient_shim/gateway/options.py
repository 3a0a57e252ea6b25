"""The options of a gateway: one table, its readers, and the sources of the values.

The command line goes before the environment, and the environment before the defaults.
"""

from __future__ import annotations

import math
import os
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Mapping, NamedTuple

from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.gateway.releases import RELEASES
from tritonclient_shim.settings import gateway_variables
from tritonclient_shim.settings.addresses import join_port, split_port
from tritonclient_shim.settings.values import HEADER_NAME, Reader, number

#: v1's limit of a gRPC message, on both sides (docs/v1-behaviour.md §9.2).
LARGEST_MESSAGE = 2**31 - 1
#: How the environment spells an option: this prefix, and the option's name in capitals.
PREFIX = "TRITON_SHIM_GATEWAY_"

_ADDRESS = "HOST:PORT"
_NUMBER = "N"
_SECONDS = "SECONDS"
_FILE = "FILE"
_NO_FORWARDING = ("content-", "transfer-", "grpc-", "nv-", "inference-header-")
_HOP_BY_HOP = frozenset(
    ("accept", "accept-encoding", "connection", "expect", "host", "keep-alive", "te", "trailer")
    + ("upgrade", "user-agent")
)


class OptionError(ValueError):
    """An option cannot be used; the text names the option, its source, and what was expected."""


class ListenAddress(NamedTuple):
    """An address to listen on; the system chooses the port if it is 0."""

    host: str
    port: int

    def __str__(self) -> str:
        return join_port(self.host, self.port)


class Bound(NamedTuple):
    """The addresses that a gateway listens on; ``metrics`` is None without that server."""

    http: ListenAddress
    grpc: ListenAddress
    metrics: ListenAddress | None = None


# ------------------------------------------------------- readers: text → the value of an option


def _address(value: str) -> ListenAddress:
    host, port = split_port(value)
    if ":" not in value or not port.isdigit() or int(port) > 65535:
        raise ValueError("HOST:PORT")
    return ListenAddress(host or "127.0.0.1", int(port))


def _triton(value: str) -> Any:
    from tritonclient_shim.translate.constructors import parse_url  # not every command needs it

    return parse_url(_text(value), GRPC)


def _text(value: str) -> str:
    if not value:
        raise ValueError("a text")
    return value


def _positive(value: str) -> int:
    if not value.isdecimal() or not int(value):
        raise ValueError("a positive number")
    return int(value)


def _seconds(value: str) -> float:
    read = number(value)
    if not 0 < read < math.inf:
        raise ValueError("a positive number of seconds")
    return read


def _seconds_or_none(value: str) -> float:
    read = number(value)
    if not 0 <= read < math.inf:
        raise ValueError("a number of seconds from 0 on")
    return read


def _choice(*words: str) -> Reader:
    def read(value: str) -> str:
        if value not in words:
            raise ValueError(f"{', '.join(words[:-1])} or {words[-1]}")
        return value

    return read


def _file(value: str) -> str:
    path = os.path.abspath(os.path.expanduser(value)) if value else ""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise ValueError("the path of a file that exists and may be read")
    return path


def _header_names(value: str) -> tuple[str, ...]:
    names = [word.strip().lower() for word in value.split(",")]
    if names == ["none"]:
        return ()
    for name in names:
        taken = name in _HOP_BY_HOP or name.startswith(_NO_FORWARDING)
        if taken or not HEADER_NAME.fullmatch(name):
            raise ValueError(
                "names of headers such as x-request-id, or none; those that belong to one "
                f"connection or to the form of a message cannot be handed on, and {name!r} is one"
                if taken
                else "names of headers such as x-request-id, with commas between, or none"
            )
    return tuple(dict.fromkeys(names))


# ------------------------------------------------------------------------------------ the table


def _option(reader: Reader, shown: str, text: str, default: Any = None) -> Any:
    """Return a field. ``shown`` stands for the value in the help, ``text`` describes it."""
    return field(default=default, metadata={"reader": reader, "shown": shown, "help": text})


@dataclass(frozen=True)
class GatewayOptions:
    """The options of one gateway; docs/gateway.md describes each."""

    http: ListenAddress = _option(
        _address,
        _ADDRESS,
        "where to serve v1's HTTP; port 0 lets the system choose",
        ListenAddress("127.0.0.1", 8000),
    )
    grpc: ListenAddress = _option(
        _address,
        _ADDRESS,
        "where to serve v1's gRPC; port 0 lets the system choose",
        ListenAddress("127.0.0.1", 8001),
    )
    triton_grpc: Endpoint = _option(
        _triton, _ADDRESS, "gRPC address of Triton, required; grpcs://HOST:PORT for TLS"
    )
    forward_header: tuple[str, ...] = _option(
        _header_names,
        "NAMES",
        "headers and metadata of a client's calls that go on to Triton, with commas between",
        ("authorization", "traceparent", "tracestate"),
    )
    tls_certificate: str | None = _option(
        _file, _FILE, "serve TLS, over HTTP and gRPC, with this certificate, in PEM"
    )
    tls_key: str | None = _option(_file, _FILE, "its key, in PEM, not encrypted")
    tls_client_roots: str | None = _option(
        _file, _FILE, "accept only clients whose certificate one of these, in PEM, has signed"
    )
    server_id: str = _option(
        _text,
        "ID",
        "the server id that clients see, such as v1's default inference:0 (otherwise Triton's "
        "own --id)",
        "",
    )
    emulate: str = _option(
        _choice(*RELEASES),
        "RELEASE",
        f"a release of v1's server, {', '.join(RELEASES)}, whose texts and fields clients get "
        "(otherwise those that clients of all releases can read)",
        "",
    )
    max_body_bytes: int = _option(
        _positive, _NUMBER, "largest HTTP body and largest gRPC message", LARGEST_MESSAGE
    )
    max_in_flight: int = _option(
        _positive,
        _NUMBER,
        "inferences per protocol that Triton computes at one time; more wait. gRPC calls, idle "
        "streams included, may be 16 times as many",
        512,
    )
    max_connection_age: float | None = _option(
        _seconds,
        _SECONDS,
        "how long a gRPC connection is used; then its client is told to make another one "
        "(otherwise as long as the client likes)",
    )
    client_timeout: float = _option(
        _seconds,
        _SECONDS,
        "how long a client may keep the gateway waiting for a part of an HTTP body, or for "
        "accepting a part of an HTTP response; and for the answer to a ping over gRPC",
        30.0,
    )
    upstream_timeout: float = _option(
        _seconds,
        _SECONDS,
        "how long Triton may take for an inference or its status; ten times as long to load a "
        "model. Then clients get UNAVAILABLE",
        60.0,
    )
    health_timeout: float = _option(
        _seconds, _SECONDS, "how long Triton may take to report its health", 2.0
    )
    drain: float = _option(
        _seconds_or_none,
        _SECONDS,
        "how long a stop only reports that the gateway is not ready, and still accepts "
        "connections, so that load balancers look elsewhere",
        1.0,
    )
    grace: float = _option(
        _seconds_or_none, _SECONDS, "how long a stop waits for requests in progress", 10.0
    )
    access_log: str = _option(
        _choice("json", "off"), "json", "a JSON object on stderr for each request", "off"
    )
    metrics_address: ListenAddress | None = _option(
        _address,
        _ADDRESS,
        "where to serve /metrics for Prometheus, and the gateway's own /livez and /readyz",
    )
    start_line: str = _option(
        _choice("text", "json"),
        "text|json",
        "the form of the line on stdout that names the addresses, for people or programs",
        "text",
    )


#: Name → dataclass field, in the order of the table.
OPTIONS: dict[str, Field[Any]] = {row.name: row for row in fields(GatewayOptions)}

# ----------------------------------------------------------------------------------- the sources


def options_from(arguments: Mapping[str, str]) -> GatewayOptions:
    """Return the options; ``arguments`` are the texts of the command line.

    Raise OptionError for an option that cannot be used, or is missing.
    """
    values = {
        name: _read(name, text, source)
        for name, (source, text) in {
            **_from_environment(),
            **{name: (option(name), text) for name, text in arguments.items()},
        }.items()
    }
    if "triton_grpc" not in values:
        raise OptionError(
            "the address of Triton is missing: give --triton-grpc HOST:PORT, or the variable "
            f"{PREFIX}TRITON_GRPC"
        )
    pair = ("tls_certificate", "tls_key")
    if (pair[0] in values) is not (pair[1] in values):
        present, missing = pair if pair[0] in values else pair[::-1]
        raise OptionError(f"{option(present)} is of no use without {option(missing)}: give both")
    if "tls_client_roots" in values and "tls_key" not in values:
        raise OptionError("--tls-client-roots is of no use without --tls-certificate and --tls-key")
    return GatewayOptions(**values)


def option(name: str) -> str:
    """Return an option's name as the command line spells it."""
    return f"--{name.replace('_', '-')}"


def _read(name: str, text: str, source: str) -> Any:
    try:
        return OPTIONS[name].metadata["reader"](text)
    except ValueError as error:
        raise OptionError(f"{source}: expected {error}, got {text!r}") from None


def _from_environment() -> dict[str, tuple[str, str]]:
    """Return name → variable and text. An empty variable counts as unset."""
    return {
        capitals.lower(): (PREFIX + capitals, text)
        for capitals, text in gateway_variables().items()
        if text and capitals.lower() in OPTIONS
    }


def unknown_variables() -> list[str]:
    """Return a line for each variable that looks like a misspelt option.

    Kubernetes sets other variables with this prefix for a service of that name.
    """
    names = [name.upper() for name in OPTIONS]
    lines = []
    for name in gateway_variables():
        near = get_close_matches(name, names, 1, 0.8)
        if name not in names and near:
            lines.append(f"{PREFIX}{name} is no option; did you mean {PREFIX}{near[0]}?")
    return lines
