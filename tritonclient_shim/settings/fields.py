"""The settings: a frozen dataclass. Each field has its default and its reader."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any

from tritonclient_shim.core.model import GRPC, PROTOCOLS, Endpoint
from tritonclient_shim.settings import values
from tritonclient_shim.settings.models import DeclaredModel, declared_models

#: The connections that a setting is a property of, besides those over a protocol.
SECURE = "secure connections"  # over either protocol


class SettingsError(ValueError):
    """A setting cannot be used; the text says which one, what was expected, and what to do."""


def _setting(default: Any, reader: values.Reader, *of: str, secret: bool = False) -> Any:
    """Return a field. ``of`` names the connections that the setting is a property of.

    Without one the setting belongs to the server's address, or to each request. Contexts share
    connections if all settings of a connection are equal.
    """
    metadata = {"reader": reader, "of": frozenset(of), "secret": secret}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """How servers are reached. Times are in seconds; None means no limit, as in v1.

    Every field can be given to ``configure()`` and as the variable ``TRITON_SHIM_`` and its name
    in capitals; docs/settings.md describes each.
    """

    rewrite_addresses: tuple[tuple[str, str], ...] = _setting((), values.rules)
    tls: str = _setting("auto", values.tls)
    root_certificates: str | None = _setting(None, values.existing_file, SECURE)
    client_key: str | None = _setting(None, values.existing_file, SECURE)
    client_certificate: str | None = _setting(None, values.existing_file, SECURE)
    connect_timeout: float | None = _setting(None, values.seconds, *PROTOCOLS)
    network_timeout: float | None = _setting(None, values.seconds, *PROTOCOLS)
    keepalive_time: float | None = _setting(None, values.seconds, *PROTOCOLS)
    keepalive_timeout: float | None = _setting(20.0, values.seconds, *PROTOCOLS)
    http_headers: tuple[tuple[str, str], ...] = _setting((), values.http_headers, secret=True)
    grpc_metadata: tuple[tuple[str, str], ...] = _setting(
        (), values.grpc_metadata, GRPC, secret=True
    )
    grpc_channel_arguments: tuple[tuple[str, int | str], ...] = _setting(
        (), values.channel_arguments, GRPC
    )
    models: tuple[tuple[str, DeclaredModel], ...] = _setting((), declared_models)

    def declared(self, model: str) -> DeclaredModel | None:
        """Return the model's entry in ``models``; None without one."""
        return dict(self.models).get(model) if self.models else None


DEFAULTS = Settings()

#: Name → dataclass field, in the order of the table.
FIELDS: dict[str, Field[Any]] = {setting.name: setting for setting in fields(Settings)}


def of_connections(settings: Settings, endpoint: Endpoint) -> Settings:
    """Return the settings that matter to connections to the endpoint; all others have defaults.

    Contexts whose results are equal can share what is made from them.
    """
    if settings is DEFAULTS:
        return DEFAULTS
    kinds = {endpoint.protocol, SECURE} if endpoint.secure else {endpoint.protocol}
    names = [name for name, setting in FIELDS.items() if kinds & setting.metadata["of"]]
    return Settings(**{name: getattr(settings, name) for name in names})


def variable(name: str) -> str:
    """Name of a setting → the name of its environment variable."""
    return f"TRITON_SHIM_{name.upper()}"


def read(name: str, value: Any, source: str) -> Any:
    """``value`` → the setting; SettingsError, which names ``source``, if it is unusable."""
    metadata = FIELDS[name].metadata
    try:
        return metadata["reader"](value)
    except ValueError as error:
        shown = "not usable" if metadata["secret"] else repr(value)
        raise SettingsError(
            f"{source} is {shown}; expected {error}. Change or remove it; "
            "see tritonclient-shim guide settings"
        ) from None
