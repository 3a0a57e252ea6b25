"""Headers, or metadata, beside those of the settings: a thread's own, and a plugin's changes.

A thread's headers are no context variable: a thread that is started meanwhile must not keep the
credentials of a request.
"""

from __future__ import annotations

import importlib
import threading
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Callable, TypeVar

from tritonclient_shim.backends.base import CallHeaders
from tritonclient_shim.settings import Settings, SettingsError

T = TypeVar("T")


class _Current(threading.local):
    headers: CallHeaders = ()


_current = _Current()


def current_headers() -> CallHeaders:
    """Return the headers, or metadata, for this thread's calls; names are in lower case."""
    return _current.headers


def call_with(headers: CallHeaders, function: Callable[..., T], *arguments: object) -> T:
    """Call the function; ``headers`` go with each call to a server that it makes."""
    before, _current.headers = _current.headers, headers
    try:
        return function(*arguments)
    finally:
        _current.headers = before


Plugin = Callable[[Any], Any]


def plugin_of(settings: Settings) -> Plugin | None:
    """Return the plugin; one that is given as ``module:factory`` is made when it is first used.

    Raises SettingsError where it cannot be made. The same text gives the same object again.
    """
    plugin = settings.plugin
    return _made_by_factory(plugin) if isinstance(plugin, str) else plugin


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
    """Return the headers as the plugin has changed them; its exceptions reach the caller."""
    request = SimpleNamespace(headers=headers)  # tritonclient's has no more
    plugin(request)
    changed: dict[str, Any] = request.headers
    return changed
