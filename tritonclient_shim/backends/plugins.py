"""The tritonclient plugin of the settings: it may change the headers of every request."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Callable

from tritonclient_shim.settings import Settings, SettingsError

Plugin = Callable[[Any], Any]


class PluginRequest:
    """What a plugin is called with, as tritonclient calls it: ``headers`` is to be changed."""

    def __init__(self, headers: dict[str, Any]) -> None:
        self.headers = headers


def plugin_of(settings: Settings) -> Plugin | None:
    """The plugin, made on first use when it is given as ``module:factory``.

    Raises SettingsError where that makes none. The same text gives the same object again.
    """
    found = settings.plugin
    return _made(found) if isinstance(found, str) else found


@lru_cache(maxsize=None)
def _made(text: str) -> Plugin:
    module, _, name = text.partition(":")
    try:
        factory: Any = importlib.import_module(module)
        for part in name.split("."):
            factory = getattr(factory, part)
        plugin: Plugin = factory()
    except (ImportError, AttributeError, TypeError) as error:
        raise _no_plugin(text, str(error)) from error
    if not callable(plugin):
        raise _no_plugin(text, f"it returned {type(plugin).__name__}, which cannot be called")
    return plugin


def _no_plugin(text: str, why: str) -> SettingsError:
    return SettingsError(
        f"The plugin {text!r} cannot be made: {why}. Expected 'module:factory', where factory() "
        "returns a tritonclient plugin; see plugin in docs/settings.md"
    )


def headers_after(plugin: Plugin, headers: dict[str, Any]) -> dict[str, Any]:
    """The headers after the plugin has seen them; its own exceptions are the caller's."""
    request = PluginRequest(headers)
    plugin(request)
    return request.headers
