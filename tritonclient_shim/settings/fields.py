"""The settings: a frozen dataclass, in which each field has its default and its reader."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any

from tritonclient_shim.settings import rewriting, values

_COMPRESSION = {"none": "as v1", "gzip": "RFC 1952", "deflate": "zlib's format"}


class SettingsError(ValueError):
    """A setting cannot be used; the text says which one, what was expected, and what to do."""


def _setting(default: Any, reader: values.Reader, secret: bool = False) -> Any:
    return field(default=default, metadata={"reader": reader, "secret": secret})


@dataclass(frozen=True)
class Settings:
    """How servers are reached. Times are in seconds; None means no limit, as in v1.

    Every field can be given to ``configure()`` and as the variable ``TRITON_SHIM_`` and its name
    in capitals; docs/settings.md describes each.
    """

    rewrite_addresses: tuple[tuple[str, str], ...] = _setting((), rewriting.rules)
    tls: str = _setting(
        "auto", values.choice(auto="by the scheme of the url", on="always", off="never")
    )
    root_certificates: str | None = _setting(None, values.existing_file)
    client_key: str | None = _setting(None, values.existing_file)
    client_certificate: str | None = _setting(None, values.existing_file)
    insecure: bool = _setting(False, values.truth)
    connect_timeout: float | None = _setting(None, values.seconds)
    network_timeout: float | None = _setting(None, values.seconds)
    keepalive_time: float | None = _setting(None, values.seconds)
    keepalive_timeout: float | None = _setting(20.0, values.seconds)
    keepalive_without_calls: bool = _setting(False, values.truth)
    http_headers: tuple[tuple[str, str], ...] = _setting((), values.http_headers, secret=True)
    http_request_compression: str = _setting("none", values.choice(**_COMPRESSION))
    http_response_compression: str = _setting("none", values.choice(**_COMPRESSION))
    proxy: str = _setting("environment", values.proxy, secret=True)
    grpc_metadata: tuple[tuple[str, str], ...] = _setting((), values.grpc_metadata, secret=True)
    grpc_compression: str = _setting("none", values.choice(**_COMPRESSION))
    grpc_load_balancing: str = _setting(
        "pick_first",
        values.choice(
            pick_first="all calls to one address of the server's name",
            round_robin="calls to all of its addresses in turn",
        ),
    )
    grpc_channel_arguments: tuple[tuple[str, int | str], ...] = _setting(
        (), values.channel_arguments
    )
    plugin: Any = _setting(None, values.plugin)


DEFAULTS = Settings()

#: Name → dataclass field, in the order of the table.
FIELDS: dict[str, Field[Any]] = {one.name: one for one in fields(Settings)}


def variable(name: str) -> str:
    """The name of a setting → the name of its environment variable."""
    return f"TRITON_SHIM_{name.upper()}"


def read(name: str, value: Any, source: str) -> Any:
    """``value`` → what the setting holds; SettingsError, which names ``source``, if unusable."""
    one = FIELDS[name]
    try:
        return one.metadata["reader"](value)
    except ValueError as error:
        shown = "not usable" if one.metadata["secret"] else repr(value)
        raise SettingsError(
            f"{source} is {shown}; expected {error}. Change or remove it; see docs/settings.md"
        ) from None


def check_together(settings: Settings) -> Settings:
    """The same settings; SettingsError when two of them contradict each other."""
    if (settings.client_key is None) is not (settings.client_certificate is None):
        given, missing = ("client_key", "client_certificate")
        if settings.client_key is None:
            given, missing = missing, given
        raise SettingsError(
            f"the setting {given} is given without {missing}; a client proves who it is with "
            f"both. Give {missing} as well ({variable(missing)}), or remove {given}"
        )
    return settings
