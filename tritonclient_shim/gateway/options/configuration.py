"""Where options come from: the command line, else the environment, else a file, else defaults."""

from __future__ import annotations

import importlib
import sys
from difflib import get_close_matches
from typing import Any, Iterable, Mapping

from tritonclient_shim.gateway.options.table import OPTIONS, GatewayOptions
from tritonclient_shim.settings import gateway_variables

#: What names the file in the environment; on the command line it is ``--config``.
FILE = "config"
#: How the environment spells an option: this, and its name in capitals.
PREFIX = "TRITON_SHIM_GATEWAY_"
#: Options that are given together.
_PAIRS = (("tls_certificate", "tls_key"), ("triton_certificate", "triton_key"))


class OptionError(ValueError):
    """An option cannot be used; the text says which one, from where, and what was expected."""


def options_from(given: Mapping[str, Any]) -> GatewayOptions:
    """The options, of which ``given`` are those of the command line, as text.

    Raises OptionError for an option that cannot be used, or is missing.
    """
    variables = _from_environment()
    file = given.get(FILE) or variables.get(FILE, ("", ""))[1]
    found = {
        **(_from_file(file) if file else {}),
        **variables,
        **{name: (option(name), value) for name, value in given.items()},
    }
    found.pop(FILE, None)
    values = {name: _read(name, value, source) for name, (source, value) in found.items()}
    if "triton_grpc" not in values:
        raise OptionError(
            "the address of Triton is missing: give --triton-grpc HOST:PORT, the variable "
            f"{PREFIX}TRITON_GRPC, or triton-grpc in the file of --config"
        )
    for one, other in _PAIRS:
        if (one in values) is not (other in values):
            given_one, missing = (one, other) if one in values else (other, one)
            raise OptionError(
                f"{option(given_one)} is of no use without {option(missing)}: give both"
            )
    if "tls_client_roots" in values and "tls_key" not in values:
        raise OptionError("--tls-client-roots is of no use without --tls-certificate and --tls-key")
    return GatewayOptions(**values)


def option(name: str) -> str:
    """The name of an option → how the command line spells it."""
    return f"--{_key(name)}"


def _key(name: str) -> str:
    return name.replace("_", "-")


def _read(name: str, value: Any, source: str) -> Any:
    try:
        return OPTIONS[name].metadata["reader"](value)
    except ValueError as error:
        raise OptionError(f"{source}: expected {error}, got {value!r}") from None


def _from_environment() -> dict[str, tuple[str, str]]:
    """Name → the variable and its text. An empty variable counts as none."""
    found = {}
    for capitals, text in gateway_variables().items():
        name = capitals.lower()
        if text and (name in OPTIONS or name == FILE):
            found[name] = (PREFIX + capitals, text)
    return found


def unknown_variables() -> list[str]:
    """What the environment has beside the options, if it looks like one: a line for each.

    Others are let be: Kubernetes makes such variables for a service of that name.
    """
    known = [name.upper() for name in (*OPTIONS, FILE)]
    lines = []
    for name in gateway_variables():
        near = get_close_matches(name, known, 1, 0.8)
        if name not in known and near:
            lines.append(f"{PREFIX}{name} is no option; did you mean {PREFIX}{near[0]}?")
    return lines


def _from_file(path: str) -> dict[str, tuple[str, Any]]:
    """Name → where the file has it, and the value."""
    try:
        with open(path, "rb") as file:
            content = _toml().loads(file.read().decode())
    except OSError as error:
        raise OptionError(f"--config: cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested too deeply
        raise OptionError(f"{path} is not a TOML file: {error}") from None
    found = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in OPTIONS:
            raise OptionError(f"{path}: unknown key {key!r}; {_hint(key, map(_key, OPTIONS))}")
        found[name] = (f"{path}, key {key}", value)
    return found


def _hint(key: str, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(key, names, 1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(names)}"


def _toml() -> Any:
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        return importlib.import_module(name)
    except ImportError:
        raise OptionError(
            f"--config needs {name}, which is not installed. Install it: "
            f"{sys.executable} -m pip install tomli"
        ) from None
