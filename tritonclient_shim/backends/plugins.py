"""The tritonclient plugin of the settings: it may change the headers of every request."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Callable

from tritonclient_shim.settings import Settings, SettingsError

Plugin = Callable[[Any], Any]


class PluginRequest:
    """The argument of a plugin, as tritonclient has it: the plugin may change ``headers``."""

    def __init__(self, headers: dict[str, Any]) -> None:
        self.headers = headers


def plugin_of(settings: Settings) -> Plugin | None:
    """The plugin; one that is given as ``module:factory`` is made when it is first used.

    Raises SettingsError where it cannot be made. The same text gives the same object again.
    """
    found = settings.plugin
    return _made_by_factory(found) if isinstance(found, str) else found


@lru_cache(maxsize=None)
def _made_by_factory(text: str) -> Plugin:
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
        "returns a tritonclient plugin; see plugin in tritonclient-shim guide settings"
    )


def headers_after(plugin: Plugin, headers: dict[str, Any]) -> dict[str, Any]:
    """The headers as the plugin has changed them; its exceptions reach the caller."""
    request = PluginRequest(headers)
    plugin(request)
    return request.headers
