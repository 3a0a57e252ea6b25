"""The settings: a frozen dataclass. Each field has its default and its reader."""

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


class SettingsError(ValueError):
    """A setting cannot be used; the text says which one, what was expected, and what to do."""


def _setting(default: Any, reader: values.Reader, *of: str, secret: bool = False) -> Any:
    """Return a field. ``of`` names what the setting is a property of.

    Contexts share connections if all that matters to a connection is equal.
    """
    metadata = {"reader": reader, "of": frozenset(of), "secret": secret}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """How servers are reached. Times are in seconds; None means no limit, as in v1.

    Every field can be given to ``configure()`` and as the variable ``TRITON_SHIM_`` and its name
    in capitals; docs/settings.md describes each.
    """

    rewrite_addresses: tuple[tuple[str, str], ...] = _setting((), values.rules, ADDRESS)
    tls: str = _setting("auto", values.tls, ADDRESS)
    root_certificates: str | None = _setting(None, values.existing_file, SECURE)
    client_key: str | None = _setting(None, values.existing_file, SECURE)
    client_certificate: str | None = _setting(None, values.existing_file, SECURE)
    insecure: bool = _setting(False, values.truth, SECURE)
    connect_timeout: float | None = _setting(None, values.seconds, HTTP, GRPC)
    network_timeout: float | None = _setting(None, values.seconds, HTTP, GRPC)
    keepalive_time: float | None = _setting(None, values.seconds, HTTP, GRPC)
    keepalive_timeout: float | None = _setting(20.0, values.seconds, HTTP, GRPC)
    http_headers: tuple[tuple[str, str], ...] = _setting(
        (), values.http_headers, REQUEST, secret=True
    )
    proxy: str = _setting("environment", values.proxy, HTTP, GRPC, secret=True)
    grpc_metadata: tuple[tuple[str, str], ...] = _setting(
        (), values.grpc_metadata, GRPC, secret=True
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
FIELDS: dict[str, Field[Any]] = {setting.name: setting for setting in fields(Settings)}


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
        present, missing = ("client_key", "client_certificate")
        if settings.client_key is None:
            present, missing = missing, present
        raise SettingsError(
            f"the setting {present} is given without {missing}; a client proves who it is with "
            f"both. Give {missing} as well ({variable(missing)}), or remove {present}"
        )
    return settings
