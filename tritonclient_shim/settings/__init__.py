"""Settings: ``configure()``, else the environment, else the defaults. The only reader of
``os.environ``.

docs/settings.md describes each setting for users. Also here: which proxy leads to a server, and
the variables of notices and usage reports.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import Field, dataclass, field, fields
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from tritonclient_shim.concurrency import forks
from tritonclient_shim.core.model import GRPC, PROTOCOLS, Endpoint
from tritonclient_shim.settings import values
from tritonclient_shim.settings.addresses import basic_authorization, parse
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
    keepalive_timeout: float = _setting(values.PROBE_WAIT, values.probe_wait, *PROTOCOLS)
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


#: How the variables of the gateway's options begin, which are no settings.
_GATEWAY = "TRITON_SHIM_GATEWAY_"

_lock = forks.Lock()
#: What ``configure()`` has set. A value may be None: a time limit that is off.
_configured: Mapping[str, Any] = {}


def configure(**changes: Any) -> Settings:
    """Change settings for every context made from now on; contexts that exist keep theirs.

    Parameters
    ----------
    **changes
        Fields of :class:`Settings`, as Python values or in the text form of their variables.
        None undoes what an earlier ``configure`` set.

    Returns
    -------
    Settings
        All settings as they are now.

    Raises
    ------
    SettingsError
        A value cannot be used, or contradicts another (a ValueError). Nothing is changed.
    TypeError
        There is no setting of that name.
    """
    global _configured
    for name in changes:
        if name not in FIELDS:
            near = _nearest(name, FIELDS)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(FIELDS)}."
            raise TypeError(
                f"configure() knows no setting {name!r}; {hint} "
                "See tritonclient-shim guide settings"
            )
    try:
        added = {
            name: read(name, value, f"configure({name}=…)")
            for name, value in changes.items()
            if value is not None
        }
        with _lock.lock:
            remaining = {name: value for name, value in _configured.items() if name not in changes}
            settings = _combined({**remaining, **added})
            _configured = {**remaining, **added}
    except SettingsError as error:
        raise error.with_traceback(None)  # noqa: B904 - without our frames
    return settings


def current() -> Settings:
    """Return the settings for a context made now; SettingsError when a variable cannot be used."""
    return _combined(_configured)


def _combined(configured: Mapping[str, Any]) -> Settings:
    """Return these settings over the environment's; SettingsError if two contradict each other."""
    texts = {name: text for name in FIELDS if (text := os.environ.get(variable(name)))}
    if not configured and not texts:
        return DEFAULTS
    chosen = {
        name: read(name, text, variable(name))
        for name, text in texts.items()
        if name not in configured
    }
    settings = Settings(**chosen, **configured)
    if (settings.client_key is None) is not (settings.client_certificate is None):
        if settings.client_key is None:
            present = "client_certificate"
            missing = "client_key"
        else:
            present = "client_key"
            missing = "client_certificate"
        raise SettingsError(
            f"the setting {present} is given without {missing}; a client proves who it is with "
            f"both. Give {missing} as well ({variable(missing)}), or remove {present}"
        )
    return settings


def described() -> list[str]:
    """Return a line for each setting that is given, without secrets, and the place it comes from.

    Raise SettingsError as :func:`current`.
    """
    settings = current()
    shown = {name: _shown(name, getattr(settings, name)) for name in FIELDS}
    shown.update(warnings=warnings_mode(), report=report_path() or "none")
    sources = {name: "environment" for name in shown if os.environ.get(variable(name))}
    sources.update((name, "configure()") for name in _configured)
    rows = [(name, value, sources[name]) for name, value in shown.items() if name in sources]
    return [f"{name} = {value}  ({source}; {variable(name)})" for name, value, source in rows]


def _shown(name: str, value: Any) -> str:
    if value is None or value == ():
        return "none"
    if name == "models":
        return ", ".join(model for model, _ in value)
    if name in ("http_headers", "grpc_metadata"):
        return ", ".join(f"{key}: …" for key, _ in value)
    if isinstance(value, tuple):
        return ", ".join(f"{key}={item}" for key, item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def unknown_variables() -> tuple[tuple[str, str], ...]:
    """Return the ``TRITON_SHIM_`` variables that are no settings, and the nearest name of each."""
    variables = {*map(variable, FIELDS), "TRITON_SHIM_WARNINGS", "TRITON_SHIM_REPORT"}
    strange = sorted(
        name
        for name in os.environ
        if name.startswith("TRITON_SHIM_")
        and name not in variables
        and not name.startswith(_GATEWAY)
    )
    return tuple((name, _nearest(name, variables)) for name in strange)


def gateway_variables() -> dict[str, str]:
    """Return the variables of the gateway's options, by what follows their common beginning."""
    size = len(_GATEWAY)
    return {name[size:]: text for name, text in os.environ.items() if name.startswith(_GATEWAY)}


def _nearest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches  # imported only for a misspelt name

    return (*get_close_matches(name, sorted(names), 1), "")[0]


# ----------------------------------------------------------------------------- proxies


class Proxy(NamedTuple):
    """An HTTP proxy; ``authorization`` is the value of its header, '' for none.

    ``variable`` is the environment variable that names the proxy.
    """

    host: str
    port: int
    authorization: str = ""
    variable: str = ""


def proxy_for(host: str, secure: bool) -> Proxy | None:
    """Return the proxy over HTTP on the way to ``host``; SettingsError for an unsupported kind.

    The variables are those of v1, which was libcurl (docs/v1-behaviour.md §10.1). HTTP_PROXY is
    not among them: in a CGI program, a request's header may set it. gRPC reads these variables
    by its own rules.
    """
    names = ["https_proxy", "HTTPS_PROXY"] if secure else ["http_proxy"]
    source = _first_set(*names, "all_proxy", "ALL_PROXY")
    exceptions = os.environ.get(_first_set("no_proxy", "NO_PROXY"), "")
    if not source or _excepted(host, exceptions):
        return None
    return _parsed_proxy(os.environ[source], source)


def _first_set(*names: str) -> str:
    """Return the first of these variables that is set and not empty; '' if there is none."""
    for name in names:
        if os.environ.get(name):
            return name
    return ""


def _excepted(host: str, exceptions: str) -> bool:
    """True if ``exceptions`` is '*', or names the host or a domain above the host."""
    if exceptions == "*":
        return True
    name = host.lower()
    for entry in re.split("[, ]+", exceptions.lower()):
        domain = entry[1:] if entry.startswith(".") else entry
        if domain and (name == domain or name.endswith(f".{domain}")):
            return True
    return False


def _parsed_proxy(text: str, source: str) -> Proxy:
    address = parse(text)
    if (
        address is None
        or (address.scheme or "http").lower() != "http"
        or address.port == ""
        or address.prefix not in ("", "/")
    ):
        shown = re.sub(r"//[^@/]*@", "//…@", text)
        raise SettingsError(
            f"{source} is {shown!r}; expected http://host:port, the only kind of proxy that is "
            "spoken here. Name the server in no_proxy to go without"
        )
    port = int(address.port or 1080)
    return Proxy(address.host.strip("[]"), port, basic_authorization(address.user), source)


#: Variables that name a proxy, in lower case.
_PROXIES = ("grpc_proxy", "http_proxy", "https_proxy", "all_proxy")
#: gRPC uses the first of these variables that is set.
_GRPC_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def grpc_proxy_for(host: str) -> Proxy | None:
    """Return the proxy that gRPC's library takes on the way to ``host``, for messages only.

    Return None also for a text that the library cannot use either.
    """
    lists = (os.environ.get(name, "") for name in ("no_grpc_proxy", "no_proxy"))
    excepted = next(filter(None, lists), "")
    endings = tuple(entry.strip() for entry in excepted.lower().split(",") if entry.strip())
    if host.lower().endswith(endings):
        return None
    source = next((name for name in _GRPC_PROXIES if os.environ.get(name)), None)
    if source is None:
        return None
    try:
        return _parsed_proxy(os.environ[source], source)
    except SettingsError:
        return None


@contextmanager
def without_proxies() -> Iterator[None]:
    """Remove the variables that name proxies, and restore them afterwards."""
    proxies = {name: text for name, text in os.environ.items() if name.lower() in _PROXIES}
    for name in proxies:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(proxies)


# ----------------------------------------------------------------- notices and reports

#: The values of ``TRITON_SHIM_WARNINGS`` and what each of them means.
WARNING_MODES = {
    "headline": "one notice per process (the default)",
    "all": "a notice for every symbol and usage pattern, at every line that has it",
    "error": "the notice is raised as an exception",
    "off": "no notice",
}

#: The endings of a usage report's path: text and JSON.
REPORT_ENDINGS = (".txt", ".json")


def warnings_mode() -> str:
    """``TRITON_SHIM_WARNINGS``, checked: one of :data:`WARNING_MODES`.

    Raises SettingsError for anything else, naming what is allowed.
    """
    mode = os.environ.get("TRITON_SHIM_WARNINGS", "headline").strip().lower() or "headline"
    if mode not in WARNING_MODES:
        allowed = ", ".join(f"{name} ({meaning})" for name, meaning in WARNING_MODES.items())
        raise SettingsError(f"TRITON_SHIM_WARNINGS is {mode!r}; expected one of: {allowed}")
    return mode


def report_path() -> str:
    """Return ``TRITON_SHIM_REPORT``: where the usage report goes; '' for none.

    ``{pid}`` in it stands for the process id. Raises SettingsError if its ending is not known.
    """
    path = os.environ.get("TRITON_SHIM_REPORT", "").strip()
    problem = report_problem(path)
    if problem:
        raise SettingsError(f"TRITON_SHIM_REPORT is {path!r}; {problem}")
    return path


def report_problem(path: str) -> str:
    """Return what is wrong with the ending of a report's path, and what was expected; or ''."""
    ending = os.path.splitext(path)[1]
    if not ending or ending.lower() in REPORT_ENDINGS:
        return ""
    return f"no report is written as {ending}; expected {', '.join(REPORT_ENDINGS)} or no ending"
