"""The settings: a frozen dataclass, in which each field has its default and its reader."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any

from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.settings import models as declarations
from tritonclient_shim.settings import values

#: What a setting is a property of, besides connections over HTTP and over GRPC.
SECURE = "secure connections"  # over either protocol
ADDRESS = "address"  # of the server; part of every endpoint
REQUEST = "request"  # each one of a client, whatever connection it is sent on

_COMPRESSION = {"none": "as v1", "gzip": "RFC 1952", "deflate": "zlib's format"}


class SettingsError(ValueError):
    """A setting cannot be used; the text says which one, what was expected, and what to do."""


def _setting(default: Any, reader: values.Reader, *of: str, secret: bool = False) -> Any:
    """A field; ``of`` is what the setting is a property of, so that connections are shared only
    where all that matters to them is equal."""
    metadata = {"reader": reader, "of": frozenset(of), "secret": secret}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """How servers are reached. Times are in seconds; None means no limit, as in v1.

    Every field can be given to ``configure()`` and as the variable ``TRITON_SHIM_`` and its name
    in capitals; docs/settings.md describes each.
    """

    rewrite_addresses: tuple[tuple[str, str], ...] = _setting((), values.rules, ADDRESS)
    tls: str = _setting(
        "auto", values.choice(auto="by the scheme of the url", on="always", off="never"), ADDRESS
    )
    root_certificates: str | None = _setting(None, values.existing_file, SECURE)
    client_key: str | None = _setting(None, values.existing_file, SECURE)
    client_certificate: str | None = _setting(None, values.existing_file, SECURE)
    insecure: bool = _setting(False, values.truth, SECURE)
    connect_timeout: float | None = _setting(None, values.seconds, HTTP, GRPC)
    network_timeout: float | None = _setting(None, values.seconds, HTTP, GRPC)
    keepalive_time: float | None = _setting(None, values.seconds, HTTP, GRPC)
    keepalive_timeout: float | None = _setting(20.0, values.seconds, HTTP, GRPC)
    keepalive_without_calls: bool = _setting(False, values.truth, GRPC)
    http_headers: tuple[tuple[str, str], ...] = _setting(
        (), values.http_headers, REQUEST, secret=True
    )
    http_request_compression: str = _setting("none", values.choice(**_COMPRESSION), REQUEST)
    http_response_compression: str = _setting("none", values.choice(**_COMPRESSION), REQUEST)
    proxy: str = _setting("environment", values.proxy, HTTP, GRPC, secret=True)
    grpc_metadata: tuple[tuple[str, str], ...] = _setting(
        (), values.grpc_metadata, GRPC, secret=True
    )
    grpc_compression: str = _setting("none", values.choice(**_COMPRESSION), GRPC)
    grpc_load_balancing: str = _setting(
        "pick_first",
        values.choice(
            pick_first="all calls to one address of the server's name",
            round_robin="calls to all of its addresses in turn",
        ),
        GRPC,
    )
    grpc_channel_arguments: tuple[tuple[str, int | str], ...] = _setting(
        (), values.channel_arguments, GRPC
    )
    plugin: Any = _setting(None, values.plugin, GRPC, REQUEST)  # over HTTP, each client asks it
    models: tuple[tuple[str, declarations.DeclaredModel], ...] = _setting(
        (), declarations.declared_models, REQUEST
    )

    def declared(self, model: str) -> declarations.DeclaredModel | None:
        """Return what ``models`` says of one model, None without a word."""
        return dict(self.models).get(model) if self.models else None


DEFAULTS = Settings()

#: Name → dataclass field, in the order of the table.
FIELDS: dict[str, Field[Any]] = {one.name: one for one in fields(Settings)}


def of_connections(settings: Settings, endpoint: Endpoint) -> Settings:
    """Return the same settings, as far as they are properties of connections to the endpoint.

    All others have their defaults: what is made from these settings alone can be shared by all
    whose settings are equal to them.
    """
    if settings is DEFAULTS:
        return DEFAULTS
    kinds = {endpoint.protocol, SECURE} if endpoint.secure else {endpoint.protocol}
    names = [name for name, one in FIELDS.items() if kinds & one.metadata["of"]]
    return Settings(**{name: getattr(settings, name) for name in names})


def variable(name: str) -> str:
    """Name of a setting → the name of its environment variable."""
    return f"TRITON_SHIM_{name.upper()}"


def read(name: str, value: Any, source: str) -> Any:
    """``value`` → what the setting holds; SettingsError, which names ``source``, if unusable."""
    one = FIELDS[name]
    try:
        return one.metadata["reader"](value)
    except ValueError as error:
        shown = "not usable" if one.metadata["secret"] else repr(value)
        raise SettingsError(
            f"{source} is {shown}; expected {error}. Change or remove it; "
            "see tritonclient-shim guide settings"
        ) from None


def check_together(settings: Settings) -> Settings:
    """Return the same settings; SettingsError when two of them contradict each other."""
    if (settings.client_key is None) is not (settings.client_certificate is None):
        given, missing = ("client_key", "client_certificate")
        if settings.client_key is None:
            given, missing = missing, given
        raise SettingsError(
            f"the setting {given} is given without {missing}; a client proves who it is with "
            f"both. Give {missing} as well ({variable(missing)}), or remove {given}"
        )
    return settings
