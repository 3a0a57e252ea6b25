"""Settings: what ``configure()`` and the environment say. The only reader of ``os.environ``.

docs/settings.md describes each setting for users.
"""

from __future__ import annotations

from tritonclient_shim.settings.fields import DEFAULTS, Settings, SettingsError, of_connections
from tritonclient_shim.settings.notices import (
    REPORT_ENDINGS,
    WARNING_MODES,
    report_path,
    report_problem,
    warnings_mode,
)
from tritonclient_shim.settings.sources import (
    EffectiveSetting,
    Proxy,
    configure,
    current,
    described,
    gateway_variables,
    proxy_for,
    unknown_variables,
)

__all__ = [
    "DEFAULTS",
    "REPORT_ENDINGS",
    "WARNING_MODES",
    "Proxy",
    "EffectiveSetting",
    "Settings",
    "SettingsError",
    "configure",
    "current",
    "described",
    "gateway_variables",
    "of_connections",
    "proxy_for",
    "report_path",
    "report_problem",
    "unknown_variables",
    "warnings_mode",
]
